"""The numbers that the paper prints, by our names of its rows and rules."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.outcomes import NOSTOP, ORACLE
from benchmarks.paper_problems import ROWS

DATA = Path(__file__).parent / "data" / "paper"
# Ours by the paper's.
RULES = {
    NOSTOP: NOSTOP,
    ORACLE: ORACLE,
    "UCB_br": "UCBbr",
    "PRB": "PRB",
    "Acq": "AcquisitionThreshold",
    "DeltaCB": "DeltaCB",
    "DeltaES": "DeltaES",
}
_FILES = {"Matérn-5/2": "results_matern52.csv", "SE": "results_se.csv"}


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes:
        stop: Mean of the evaluations at the stop, T for a run that did not stop.
        success: Share of the runs whose best true value was within ε by then.
        regret: Mean regret of that best value.
    """

    stop: float
    success: float
    regret: float


def results(kernel: str) -> dict[tuple[str, str], Cell]:
    """Return the main table of a kernel, by row and rule."""
    return {(row, RULES[setting]): cell for (row, setting), cell in _read(_FILES[kernel]).items()}


def ablation(name: str) -> dict[tuple[str, str], Cell]:
    """Return the table of an ablation, "B" or "delta", by row and setting such as "B=1" or "delta=0.01"."""
    return _read(f"ablation_{name}.csv")


@cache
def _read(file_name: str) -> dict[tuple[str, str], Cell]:
    names = {(row.paper, str(row.dim)): name for name, row in ROWS.items()}
    with (DATA / file_name).open() as file:
        return {
            (names[line["problem"], line["d"]], line["setting"]): Cell(
                float(line["mean_stop_iteration"]), float(line["success_rate"]), float(line["final_simple_regret"])
            )
            for line in csv.DictReader(file)
        }
