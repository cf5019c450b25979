"""The section of RESULTS.md about speed."""

import json
from typing import Any

from benchmarks.records import RESULTS
from benchmarks.tables import table

PATHS = (RESULTS / "speed.json", RESULTS / "speed-one-thread.json")


def section() -> list[str]:
    """Return the Markdown; nothing where nothing was timed."""
    found = [path for path in PATHS if path.exists()]
    parts = [part for path in found for part in speed(json.loads(path.read_text()))]
    if found and PATHS[0] not in found:
        parts.append("The default thread pools have not been timed.")
    return parts


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
