"""The section of RESULTS.md about Ray Tune."""

import json
from typing import Any

from benchmarks.records import RESULTS
from benchmarks.tables import table

PATH = RESULTS / "tune.json"


def section() -> list[str]:
    """Return the Markdown; nothing where nothing was timed."""
    return tune(json.loads(PATH.read_text())) if PATH.exists() else []


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
