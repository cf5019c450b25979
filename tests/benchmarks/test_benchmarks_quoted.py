"""What README, guide and theory quote of the benchmarks is what the tables beside RESULTS.md say."""

import math
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import report

ROOT = Path(__file__).parents[2]
README, GUIDE, THEORY = ((ROOT / name).read_text() for name in ("README.md", "docs/guide.md", "docs/theory.md"))


def counts_of(name: str, **wanted: object) -> pd.DataFrame:
    found = pd.read_csv(report.TARGET / "results" / "tables" / f"{name}.csv")
    for column, value in wanted.items():
        found = found[found[column.replace("_", " ")].eq(value)]
    return found


def said(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def number(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:g}"


DRAWS = counts_of("draws", d="all", kernel="all").set_index(["points", "hyperparameters", "rule"])


@pytest.mark.parametrize("points", ["exceedance", "√β = 2"])
@pytest.mark.parametrize("treatment", ["map", "posterior"])
def test_the_guide_has_the_draws_with_an_unknown_kernel(points: str, treatment: str) -> None:
    ucb, prb = (DRAWS.loc[(points, treatment, rule)] for rule in ("UCBbr", "PRB"))
    cells = [f"{row['stopped']}, {row['false']} | {row['median stop']:g}" for row in (ucb, prb)]
    assert f'| `"{treatment}"` | {ucb["searches"]} | {cells[0]} | {cells[1]} |' in GUIDE


def test_the_guide_and_the_readme_say_where_the_default_is_worst() -> None:
    usual = DRAWS.loc[("exceedance", "map", "UCBbr")]
    wanted = {"points": "exceedance", "hyperparameters": "map", "rule": "UCBbr"}
    cells = counts_of("draws", **wanted).set_index(["d", "kernel"])
    hard = cells.loc[("6", "Matérn-5/2")]
    elsewhere = usual["false"] - hard["false"], usual["searches"] - hard["searches"]
    alone = counts_of("draws", points="√β = 2", hyperparameters="map", rule="UCBbr").set_index(["d", "kernel"])
    alone = alone.loc[("6", "Matérn-5/2")]
    samples = counts_of("draws", points="exceedance", hyperparameters="posterior", rule="UCBbr")
    samples = samples.set_index(["d", "kernel"]).loc[("6", "Matérn-5/2")]
    text = said(GUIDE)
    for quoted in (
        f"{hard['false']} of {hard['searches']} there, after {hard['median stop']:g} evaluations in the median rather "
        f"than {alone['median stop']:g}, and {elsewhere[0]} of {elsewhere[1]} elsewhere",
        f"falsely in {alone['false']} of {alone['searches']} searches",
        f"false on {usual['false']} of {usual['searches']} searches, {100 * usual['false'] / usual['searches']:.0f} % "
        f"(95 % interval: {usual['false from %']:.0f} to {usual['false to %']:.0f}); in six dimensions under "
        f"Matérn-5/2, {100 * hard['false'] / hard['searches']:.0f} % ({hard['false from %']:.0f} to "
        f"{hard['false to %']:.0f})",
        f"the {samples['searches']} of them in six dimensions under Matérn-5/2 took {samples['median stop']:g} "
        f"evaluations in the median, and {samples['searches'] - samples['stopped']} did not stop",
    ):
        assert quoted in text
    assert f"wrong on {usual['false']} of {usual['searches']} draws" in said(README)
    assert f"{hard['false']} of these on the {hard['searches']} in six dimensions" in said(README)


@pytest.mark.parametrize(
    ("rule", "words", "treatment"),
    [
        ("UCBbr", "`UCBbr`", "map"),
        ("UCBbr", "`UCBbr`", "posterior"),
        ("PRB", "`PRB`", "map"),
        ("PRB", "`PRB`", "posterior"),
        ("calibrated gap", "`OptimalityGap(beta=4.0)`", "map"),
        ("Optuna's terminator", "Optuna's terminator", "Optuna's terminator"),
    ],
)
def test_the_guide_has_the_problems_that_are_no_draws(rule: str, words: str, treatment: str) -> None:
    wanted = {"rule": rule, "hyperparameters": treatment, "points": "exceedance", "check": "inflated"}
    counts = counts_of("misspecified", **wanted)
    (line,) = [
        row
        for row in GUIDE.splitlines()
        if row.startswith(f"| {words} |") and "| 200 |" in row and (treatment == rule or f'`"{treatment}"`' in row)
    ]
    for share, cell in zip((0.01, 0.05), line.split("|")[4:6], strict=True):
        here = counts[counts["ε share"].eq(share)].set_index("problem")
        assert cell.strip().startswith(f"{here.loc['all', 'stopped']}, {here.loc['all', 'false']} (")
        false = {name: n for name, n in here["false"].items() if n and name != "all"}
        assert all(f"{name} {n}" in cell for name, n in false.items())
        assert cell.count(",") == len(false)


def test_the_guide_and_the_readme_sum_them_up() -> None:
    wanted = {"rule": "UCBbr", "hyperparameters": "map", "points": "exceedance", "check": "inflated"}
    here = counts_of("misspecified", ε_share=0.01, **wanted).set_index("problem")
    row = here.loc["all"]
    assert (
        f"it stopped {row['stopped']} times and was wrong in {row['false']}: {here.loc['step', 'false']} times"
        in said(README)
    )
    assert f"and {here.loc['Hartmann-6', 'false']} times on Hartmann-6" in said(README)
    prb = counts_of(
        "misspecified", rule="PRB", check="without", ε_share=0.05, problem="Ackley-3", hyperparameters="map"
    )
    assert prb[prb["points"].eq("exceedance")]["false"].tolist() == [20]
    least = counts_of("misspecified-least-evaluations", ε_share=0.01, hyperparameters="map")
    assert least["false"].tolist() == [20, 20, 20, 13]
    (gap,) = counts_of("misspecified-gap-over-bound", problem="all", hyperparameters="map").to_dict("records")
    assert (
        f"{gap['gap / bound']:.1f} times the bound in the median (quartiles {gap['gap / bound, 25 %']:.1f} and "
        f"{gap['gap / bound, 75 %']:.0f}; over samples 0.76, 0.5 and 2.3), and of 400 times (both ε) `UCBbr` stopped "
        f"{gap['UCBbr stopped']}, falsely {gap['UCBbr false']}, the certified gap {gap['certified gap stopped']}, "
        f"{gap['stop of the gap / of the bound']:.1f} times as late in the median. {gap['certified gap false']} of "
        f"these"
    ) in said(GUIDE)


@pytest.mark.parametrize(("kernel", "treatment"), [("known", "fixed"), ("unknown", "map"), ("unknown", "posterior")])
def test_the_guide_has_the_coverage(kernel: str, treatment: str) -> None:
    cells = counts_of("coverage", kernel=kernel, hyperparameters=treatment)
    assert f'| `"{treatment}"` | {cells["certified"].sum():,} | {cells["false"].sum()} | ' in GUIDE
    above = cells[cells["too small from %"] > 5.0]
    assert set(zip(above["space"], above["d"], strict=True)) == (
        {("finite", 2), ("finite", 4)} if treatment == "map" else set()
    )


@pytest.mark.parametrize("dim", [2, 4])
@pytest.mark.parametrize("beta", ["theory", "matched"])
def test_the_guide_has_the_gap_beside_the_papers_bound(dim: int, beta: str) -> None:
    cells = counts_of("coverage", kernel="known", space="continuous", d=dim, beta=beta).set_index("rule")
    shown = [f"{row['certified']}, {row['median evaluations']:g}" for _, row in cells.iterrows()]
    assert f'| {dim} | `"{beta}"` | {" | ".join(shown)} |' in GUIDE


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ("exceedance of ε", "β = 4 and `exceedance=ε` (default)"),
        ("√β = 2", "β = 4"),
        ("exceedance of ε/10", "exceedance of ε/10"),
    ],
)
def test_the_guide_has_where_to_look_next(points: str, words: str) -> None:
    (row,) = counts_of("samplers", problem="all", points=points).to_dict("records")
    ends = " | ".join(f"{row[f'{rule} stopped']}, {row[f'{rule} false']}" for rule in ("UCBbr", "PRB"))
    assert f"| {words} | {ends} | {row['within ε']} |" in GUIDE


@pytest.mark.parametrize("kernel", ["Matérn-5/2", "SE"])
@pytest.mark.parametrize("dim", [2, 6])
@pytest.mark.parametrize("points", ["theory", "matched"])
def test_the_theory_has_the_gap_over_the_bound(kernel: str, dim: int, points: str) -> None:
    wanted = {"problem": f"GP-known 3e-3, d = {dim}", "kernel": kernel, "points": points}
    (row,) = counts_of("paper-gap-over-bound", **wanted).to_dict("records")
    ratios = ", ".join(f"{row[f'gap / bound at {n}']:.2f}" for n in (16, 32, 64, 128))
    stops = ", ".join(number(row[f"{name}: median stop"]) for name in ("bound", "gap"))
    assert f'| {kernel}, d = {dim}, "{points}" | {ratios} | {stops} |' in THEORY


def test_the_theory_has_the_looks_of_the_model_check() -> None:
    counts = counts_of("model-check", problem="all draws")
    early = counts[counts["n"].le(32)].groupby("hyperparameters")[["held", "paths"]].sum()
    text = said(THEORY)
    assert f"in {early.loc['map', 'held']} of {early.loc['map', 'paths']} looks for the mode" in text
    assert f"in {early.loc['posterior', 'held']} of {early.loc['posterior', 'paths']} for eight samples" in text


def test_the_guide_has_the_second_opinion() -> None:
    counts = counts_of("second-opinion").set_index(["searches by", "asked"])
    mode, confirmed, alone = (
        counts.loc["draws, kernel unknown, d = 6"].loc[asked]
        for asked in ("mode alone", "mode, and left ≤ 0.05 over samples", "samples alone")
    )
    assert (
        f"At the mode all stopped, {mode['false']:.0f} of them falsely, after {mode['median stop']:g} evaluations in "
        "the median; where besides at most 5 % was to be left, all stopped, none falsely, after "
        f"{confirmed['median stop']:g}; over samples alone {alone['stopped']:.0f} did, and the median was "
        f"{alone['median stop']:g}"
    ) in said(GUIDE)
    assert (mode["searches"], mode["stopped"], confirmed["stopped"], confirmed["false"]) == (16, 16, 16, 0)
    others = (
        counts[counts.index.get_level_values(0) != "draws, kernel unknown, d = 6"]
        .groupby("asked")[["stopped", "false"]]
        .sum()
    )
    passed = others.loc["mode, and left ≤ 0.05 over samples"]
    assert (
        f"{passed['stopped']} of {others.loc['mode alone', 'stopped']} stops pass, all {passed['false']} false ones"
        in said(GUIDE)
    )


def test_who_comes_over_is_told_what_the_terminator_did_on_the_same_points() -> None:
    text = said((ROOT / "docs/coming_over.md").read_text())
    for rule, hyperparameters in (("Optuna's terminator", "Optuna's terminator"), ("UCBbr", "map")):
        wanted = {"points": "exceedance", "problem": "all", "rule": rule, "hyperparameters": hyperparameters}
        counts = counts_of("misspecified", check="inflated", **wanted).set_index("ε share")
        small, large = (counts.loc[share] for share in (0.01, 0.05))
        assert f"{small['false']} of {small['stopped']} " in text
        assert f"{large['false']} of {large['stopped']}" in text
