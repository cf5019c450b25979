"""What README, guide and theory quote of the benchmarks is what the tables beside RESULTS.md say."""

import math
import re
from pathlib import Path

import numpy as np
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


def report_text() -> str:
    return (report.TARGET / "RESULTS.md").read_text()


def said(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def number(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:g}"


def test_the_guide_has_the_default_with_an_unknown_kernel() -> None:
    groups = counts_of("doubt-groups")
    for name, part in groups.groupby("group"):
        cells = " | ".join(
            f"{row['stopped']}, {row['false']}, {number(row['median evaluations'])}" for _, row in part.iterrows()
        )
        assert f"| {name} | {part['searches'].iloc[0]} | {cells} |" in GUIDE.splitlines()
    by_default = counts_of("doubt", problem="Hartmann-6", rule="the default").fillna("")
    told = {row["ε"]: f"{row['false']} of {row['stopped']}" for _, row in by_default.iterrows()}
    assert f"{told['1%']} stops at ε = 1 %, {told['5%']} at 5 %, {told['']} at ε = 0.1" in said(GUIDE)


def test_the_guide_has_how_jobs_and_noisy_draws_end() -> None:
    ends = counts_of("jobs", rule="certificate (default)", problem="all").set_index(["family", "sampler"])
    ours, tpe, by_error, tpe_by_error, noisy, themselves = (
        f"{ends.loc[key, 'stopped']} of {ends.loc[key, 'searches']}\\b.{{0,60}} {ends.loc[key, 'false']} falsely"
        for key in (
            ("surrogates of jobs", "regretstop"),
            ("surrogates of jobs", "TPE"),
            ("surrogates, ε = standard error", "regretstop"),
            ("surrogates, ε = standard error", "TPE"),
            ("noisy draws", "regretstop"),
            ("jobs themselves", "regretstop"),
        )
    )
    assert re.search(f"{ours}, and {tpe}", said(GUIDE))
    assert re.search(f"standard error .* for ε it ended {by_error}, and {tpe_by_error}", said(GUIDE))
    network = ends.loc[("the paper's network", "regretstop"), "median evaluations"]
    assert f"at its first test, after {network:.0f} trainings" in said(GUIDE)
    assert re.search(f"Of jobs that were trained.* {themselves}", said(GUIDE))
    assert re.search(f"Of draws with a noise .* {noisy}", said(GUIDE))


def test_the_guide_has_why_the_default_is_this_one() -> None:
    rules = {
        "certificate (default)": "`UCBbr(epsilon)` (default)",
        "price of 0.05 ε": "a price of 0.05 ε an evaluation",
        "patience 20": "patience 20",
        "patience 40": "patience 40",
    }
    families = ("surrogates of jobs", "test functions", "draws", "noisy draws")
    for rule, name in rules.items():
        ends = counts_of("jobs", rule=rule, problem="all").set_index(["family", "sampler"])
        rows = [ends.loc[(family, "regretstop")] for family in families]
        cells = " | ".join(f"{row['stopped']} of {row['searches']}, {row['false']}" for row in rows)
        assert f"| {name} | {cells} |" in GUIDE.splitlines()


def test_the_guide_has_the_count_with_a_known_kernel() -> None:
    cells = counts_of("width", points="calibrated")
    rules = {
        "calibrated, 0.05": "the count, δ = 0.05 (default)",
        "calibrated, 0.1": "the count, δ = 0.1",
        "UCBbr": "`UCBbr` with √β = 2",
        "PRB": "`PRB`",
        "ΔCB": "`DeltaCB`",
        "gap": "the gap by a grid",
    }
    for rule, words in rules.items():
        part = cells[cells["rule"].eq(rule)]
        row = f"| {words} | {part['searches'].sum():,} | {part['stopped'].sum():,}, {part['false'].sum()} |"
        assert row in GUIDE.splitlines()
    counts = cells[cells["rule"].eq("calibrated, 0.05")], cells[cells["rule"].eq("calibrated, 0.1")]
    assert len(counts[0]) == 24
    for part, delta in zip(counts, (5.0, 10.0), strict=True):
        assert (part["false from %"] <= delta).all()
    (later,) = re.findall(r"Its median is later than UCBbr's in (\d+):", report_text())
    assert f"its median is later than that of √β = 2 in {later}" in said(GUIDE)
    bin_ = counts_of("width-calibration").iloc[1]
    share, low, high, told = (100 * bin_[name] for name in ("remained", "remained from", "remained to", "said"))
    assert (
        f"something was left in {share:.1f} % of {bin_['certificates']:,.0f} certificates ({low:.1f} to {high:.1f} %), "
        f"where {told:.1f} % were said"
    ) in said(GUIDE)


def test_the_guide_says_how_often_forecasts_held() -> None:
    found = counts_of("forecast", after="all").set_index("points")
    held = {points: f"{row['held %']:.0f} %" for points, row in found.iterrows()}
    assert f"In {found.loc['all', 'searches']} searches that its constants were not fitted to" in said(GUIDE)
    assert (
        f"held in {held['all']}: {held['default points']} at default points, {held['points of TPE']} at those of TPE"
    ) in said(GUIDE)
    assert f"{found.loc['all', 'open above %']:.0f} % were open above" in said(GUIDE)
    of_problems = counts_of("forecast-problems")["held %"]
    assert f"by problem they held in {of_problems.min():.0f} to {of_problems.max():.0f} %" in said(GUIDE)
    assert 70.0 <= found.loc["all", "held %"] <= 90.0


def test_the_guide_has_what_was_held_back_and_what_samples_say() -> None:
    (line,) = [line for line in report_text().splitlines() if line.startswith("**Held back**")]
    ((right, _),) = re.findall(r"(\d+) right ones .*? and (\d+) false ones", line)
    assert f"and {right} right ones of all" in said(GUIDE)
    (line,) = [line for line in report_text().splitlines() if line.startswith("**Over 32 samples**")]
    for dim in (2, 6):
        parts = re.findall(rf"of (\d+) on [^;]* in {dim} dimensions, (\d+) falsely, samples ended (\d+), (\d+) f", line)
        ends, false, confirmed, still = np.sum(np.array(parts, dtype=int), axis=0)
        where = f"of {ends} {'ends ' * (dim == 2)}in {dim} dimensions"
        assert f"{where}, {false} falsely, they confirmed {confirmed}, {still} falsely" in said(GUIDE)


@pytest.mark.parametrize(
    ("rule", "words", "treatment"),
    [
        ("UCBbr", "`UCBbr`, √β = 2", "map"),
        ("UCBbr", "`UCBbr`, √β = 2", "posterior"),
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


def test_the_guide_says_what_the_model_check_spares() -> None:
    prb = counts_of(
        "misspecified", rule="PRB", check="without", ε_share=0.05, problem="Ackley-3", hyperparameters="map"
    )
    assert prb[prb["points"].eq("exceedance")]["false"].tolist() == [20]


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


def test_who_comes_over_is_told_what_the_terminator_did_on_the_same_points() -> None:
    text = said((ROOT / "docs/coming_over.md").read_text())
    for rule, hyperparameters in (("Optuna's terminator", "Optuna's terminator"), ("UCBbr", "map")):
        wanted = {"points": "exceedance", "problem": "all", "rule": rule, "hyperparameters": hyperparameters}
        counts = counts_of("misspecified", check="inflated", **wanted).set_index("ε share")
        small, large = (counts.loc[share] for share in (0.01, 0.05))
        assert f"{small['false']} of {small['stopped']} " in text
        assert f"{large['false']} of {large['stopped']}" in text


def test_the_guide_says_what_the_default_does_beside_other_samplers() -> None:
    counts = counts_of("others")
    text = said(GUIDE)
    ended = counts.groupby("points")[["stopped", "searches", "false"]].sum()
    phrases = {"GPSampler": "searches by Optuna's `GPSampler`", "TPE": "by TPE", "random": "by random points"}
    for points, words in phrases.items():
        of = f"{ended.loc[points, 'stopped']} of {ended.loc[points, 'searches']} "
        assert of + words in text or of + words.removeprefix("searches ") in text
    assert f"these {ended['stopped'].sum()} two falsely" in text
    assert ended["false"].sum() == 2
    assert set(counts[counts["false"] > 0]["problem"]) == {"Hartmann-6"}
    assert counts["largest regret in ε"].max() <= 1.5
