"""RESULTS.md and the plot, from whatever results there are."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import coverage, misspecified, problems
from benchmarks.coverage_report import certificates
from benchmarks.records import RESULTS, read
from benchmarks.tables import rate, sources, spread, table
from benchmarks.timing import hardware

TARGET = Path(__file__).parent / "RESULTS.md"
PLOT = RESULTS / "problems.png"


def write(target: Path = TARGET) -> None:
    """Write the report."""
    parts = [
        "# Results",
        f"Written by `python -m benchmarks report` from the files in `results/`. Hardware: {hardware()}.",
    ]
    for name in ("speed.json", "speed-one-thread.json"):
        if (RESULTS / name).exists():
            parts += speed(json.loads((RESULTS / name).read_text()))
    if (RESULTS / "speed-one-thread.json").exists() and not (RESULTS / "speed.json").exists():
        parts.append("The default thread pools have not been timed.")
    if (RESULTS / "tune.json").exists():
        parts += tune(json.loads((RESULTS / "tune.json").read_text()))
    if records := read(problems.PATH):
        parts += stops(records)
        plot(records, PLOT)
        parts.append(f"![bounds and regrets along the paths](results/{PLOT.name})")
    if records := read(misspecified.PATH):
        parts += false_stops(records)
    if records := read(coverage.PATH):
        parts += certificates(records)
    target.write_text("\n\n".join(parts) + "\n")


def speed(result: dict[str, Any]) -> list[str]:
    """Return the Markdown of one speed run."""
    machine, times = result["machine"], result["results"]
    versions = ", ".join(
        f"{name} {machine[name]}"
        for name in ("python", "regretstop", "numpy", "scipy", "torch", "botorch", "gpytorch", "optuna")
    )
    rows: list[dict[str, Any]] = []
    for section, baseline, target in (
        ("bound", "SLSQP", 1 / 50),
        ("fit", "BoTorch", 1 / 10),
        ("suggest", "GPSampler", 1.0),
    ):
        for name, entry in times.items():
            if name.split()[0] == section:
                rows += _compare(name, entry, baseline, target)
    parts = [f"## Speed, threads: {machine['threads']}"]
    parts.append(
        f"Medians (quartiles) in ms a call, alternatives timed in turn; {versions}. Load average at the start: "
        f"{machine['load']} on {machine['hardware']}; above the number of cores other programs were running, and then "
        "CPU times say more than wall times. CPU time counts all threads. The ratio is to the other's time; a fit in "
        "a running study finds its earlier checkpoints cached."
    )
    parts.append(table(rows))
    agreement = times["bound"]["agreement"]
    parts.append(
        f"Bound: ours {times['bound']['ours']['cpu_ms']:.3g} ms of CPU (at most 0.1 wanted). Over {agreement['cases']} "
        f"cases (d = 2, 4, 6; t = 20, 100, 500) SLSQP's value was within 1e-6 of ours, relative, in "
        f"{agreement['slsqp_within_1e-6']} and failed in {agreement['slsqp_failed']}; it was at most "
        f"{agreement['slsqp_largest_excess']:.0e} above and {max(-agreement['slsqp_smallest_excess'], 0.0):.0e} below. "
        f"At its default tolerance it ended up to {100 * agreement['default_tolerance_largest_excess']:.1g} % too high."
    )
    imports = ", ".join(f"`{name}` {entry['cpu_ms']:.0f} ms" for name, entry in times["import"].items())
    parts.append(f"CPU time of importing, in a new process: {imports} (target: `import regretstop` below 500 ms).")
    return parts


def tune(result: dict[str, Any]) -> list[str]:
    """Return the Markdown of one run of the Ray benchmark."""
    machine, calls, runs = result["machine"], result["results"]["suggest"], result["results"]["whole run"]
    rows = [
        {"what": what, "wall ms": f"{time['wall_ms']:.3g} ({low:.3g}–{high:.3g})"}
        for what, time in calls.items()
        for low, high in [time["wall_quartiles_ms"]]
    ]
    experiments = [
        {
            "who": who,
            "wall s": f"{time['wall_ms'] / 1e3:.3g} ({low / 1e3:.3g}–{high / 1e3:.3g})",
            "CPU s of the driver": f"{time['cpu_ms'] / 1e3:.3g}",
            "wall ratio": f"{time['wall_ms'] / runs['OptunaSearch']['wall_ms']:.3g}",
        }
        for who, time in runs.items()
        for low, high in [time["wall_quartiles_ms"]]
    ]
    return [
        "## Ray Tune",
        f"Medians (quartiles), threads: {machine['threads']}; ray {result['ray']}, optuna {machine['optuna']}; load "
        f"average at the start {machine['load']} on {machine['hardware']}. Calls at 1,000 trials in 6 dimensions "
        "(targets: `suggest` below 500 ms; `stop_all` microseconds when nothing is new):",
        table(rows),
        "Whole experiments of 30 cheap trials with `reuse_actors=True`, alternatives timed in turn (target: at most "
        "1.5 times OptunaSearch, wall time):",
        table(experiments),
    ]


def _compare(name: str, entry: dict[str, Any], baseline: str, target: float) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for contender, time in entry.items():
        if "wall_ms" not in time:
            continue
        row = {"what": name, "who": contender}
        for kind in ("cpu", "wall"):
            low, high = time[f"{kind}_quartiles_ms"]
            row[f"{kind} ms"] = f"{time[f'{kind}_ms']:.3g} ({low:.3g}–{high:.3g})"
        for kind in ("cpu", "wall"):
            ratio = time[f"{kind}_ms"] / entry[baseline][f"{kind}_ms"]
            row[f"{kind} ratio"] = "1" if contender == baseline else f"{ratio:.3g}"
        ratio = time["cpu_ms"] / entry[baseline]["cpu_ms"]
        row["target (CPU)"] = (
            "" if not contender.startswith("ours") else f"{target:.2g}: {'met' if ratio <= target else 'missed'}"
        )
        rows.append(row)
    return rows


def stops(records: list[dict[str, Any]]) -> list[str]:
    """Return the Markdown about the test functions."""
    rows: list[dict[str, Any]] = []
    stopped: list[dict[str, Any]] = []
    names = list(dict.fromkeys(record["problem"] for record in records))
    for name in names:
        paths = [record for record in records if record["problem"] == name]
        for rule in ("UCBbr", "OptimalityGap"):
            found = [(r["seed"], problems.outcome(r, rule)) for r in paths]
            ends = [(seed, o) for seed, o in found if o is not None]
            oracle = [_first(r["regrets"], r["epsilon"]) for r in paths]
            n_false = sum(o["false"] for _, o in ends)
            rows.append(
                {
                    "problem": name,
                    "ε": paths[0]["epsilon"],
                    "rule": rule,
                    "guarantee": paths[0]["rules"][rule]["guarantee"],
                    "stopped": rate(len(ends), len(paths)),
                    "false of the stops": rate(n_false, len(ends)) if ends else "–",
                    "bound below the regret on the path": rate(sum(_is_violated(r, rule) for r in paths), len(paths)),
                    "stop at": spread([o["stop"] for _, o in ends]),
                    "best within ε at": spread([n for n in oracle if n is not None]),
                    "regret of the incumbent": spread([o["regret"] for _, o in ends]),
                    "certified gap at the stop": spread([o["gap"] for _, o in ends]),
                    "least gap on the path": spread(
                        [
                            min((b for b in r["rules"]["OptimalityGap"]["bounds"] if b is not None), default=math.inf)
                            for r in paths
                        ]
                    ),
                }
            )
            stopped += [
                {
                    "problem": name,
                    "rule": rule,
                    "seed": seed,
                    "stop at": o["stop"],
                    "bound": f"{o['bound']:.3g}",
                    "regret of the incumbent": f"{o['regret']:.3g}",
                    "regret of the best": f"{o['best']:.3g}",
                    "false": "FALSE" if o["false"] else "",
                    "certified gap": f"{o['gap']:.3g}",
                }
                for seed, o in sorted(ends, key=lambda end: end[0])
            ]
    first = records[0]
    parts = ["## Stops on test functions"]
    parts.append(
        f"`GPUCB(beta={first['beta']})` at its defaults (MAP), {_count(records, 'seed')} seeds, {first['trials']} "
        f"evaluations a path, δ = {first['delta']}. Every rule is evaluated along every path. Rates with Wilson's 95 % "
        "interval, otherwise medians (quartiles). A stop is false if the regret of the trial that it names is above "
        f"ε. {sources(records)}"
    )
    parts.append(table(rows))
    if stopped:
        parts.append(table(stopped))
    return parts


def false_stops(records: list[dict[str, Any]]) -> list[str]:
    """Return the Markdown about problems that are no draw of the model."""
    parts = [
        "## Where the model is wrong",
        f"Paths of up to {records[0]['trials']} evaluations by `GPUCB` (β = 4), without and with exceedance sampling; "
        f"ε is a share of the range of the values, δ = {misspecified.DELTA}. PRB and Optuna's terminator are asked "
        f"every {misspecified.EVERY} evaluations, the others always, from evaluation {misspecified.FIRST} on. A stop "
        "is false if the trial that it names (for the terminator: the best one) is more than ε from the optimum. Rates "
        "are of the stops, with Wilson's 95 % interval; where it stopped as median (quartiles). " + sources(records),
    ]
    labels = sorted({label for record in records for label in record["stops"]}, key=_order)
    for exceedance in (False, True):
        rows: list[dict[str, Any]] = []
        for name in dict.fromkeys(record["problem"] for record in records):
            paths = [r for r in records if (r["problem"], r["exceedance"]) == (name, exceedance)]
            for label in labels:
                ends = [r["stops"][label] for r in paths if label in r["stops"]]
                rule, treatment, share = label.split(", ")
                rows.append(
                    {
                        "problem": name,
                        "ε": f"{100 * float(share):.0f} %",
                        "rule": rule,
                        "hyperparameters": treatment,
                        "stopped": f"{len(ends)}/{len(paths)}",
                        "false": rate(sum(e["false"] for e in ends), len(ends)) if ends else "–",
                        "stop at": spread([e["n"] for e in ends]),
                    }
                )
        parts += [f"### {'With' if exceedance else 'Without'} exceedance sampling", table(rows)]
    return parts


def _order(label: str) -> tuple[float, str]:
    return float(label.rpartition(", ")[2]), label


def plot(records: list[dict[str, Any]], target: Path) -> None:
    """Draw each path's UCBbr bound and the regret of its incumbent, with its stop."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(record["problem"] for record in records))
    figure, axes = plt.subplots(1, len(names), figsize=(5.5 * len(names), 4), squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        paths = [record for record in records if record["problem"] == name]
        for i, record in enumerate(paths):
            along = record["rules"]["UCBbr"]
            bounds = [math.nan if b is None else b for b in along["bounds"]]
            regrets = [math.nan if k is None else max(record["regrets"][k], 1e-8) for k in along["incumbents"]]
            n = np.arange(1, len(bounds) + 1)
            labels = ("bound", "regret of the incumbent", "stop") if i == 0 else (None,) * 3
            axis.plot(n, bounds, color="C0", lw=0.8, label=labels[0])
            axis.plot(n, regrets, color="C1", lw=0.8, label=labels[1])
            if along["stop"] is not None:
                axis.plot(along["stop"], bounds[along["stop"] - 1], "k.", label=labels[2])
        axis.axhline(paths[0]["epsilon"], color="0.4", ls="--", lw=1, label="ε")
        axis.set(title=f"{name}, UCBbr", xlabel="evaluations", yscale="log")
        axis.legend(loc="lower left")
    figure.tight_layout()
    figure.savefig(target, dpi=120, metadata={"Software": None})
    plt.close(figure)


def _is_violated(record: dict[str, Any], rule: str) -> bool:
    """Return whether the bound was ever below the true regret of the trial that it is about."""
    along = record["rules"][rule]
    return any(
        bound is not None and incumbent is not None and bound < record["regrets"][incumbent]
        for bound, incumbent in zip(along["bounds"], along["incumbents"], strict=True)
    )


def _first(regrets: list[float], epsilon: float) -> int | None:
    return next((n for n, regret in enumerate(regrets, 1) if regret <= epsilon), None)


def _count(records: list[dict[str, Any]], name: str) -> int:
    return len({record[name] for record in records})
