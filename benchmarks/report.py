"""RESULTS.md, from whatever results there are."""

from pathlib import Path

from benchmarks import (
    ablations,
    coverage_report,
    misspecified_report,
    model_check,
    modes,
    paper_report,
    runtime,
    samplers,
    second_opinion,
    speed_report,
    tune_report,
)
from benchmarks.timing import hardware

TARGET = Path(__file__).parent / "RESULTS.md"
SECTIONS = (
    speed_report.section,
    tune_report.section,
    runtime.section,
    paper_report.section,
    ablations.section,
    misspecified_report.section,
    second_opinion.section,
    samplers.section,
    modes.section,
    model_check.section,
    coverage_report.section,
)


def write(target: Path = TARGET) -> None:
    """Write the report."""
    parts = [
        "# Results",
        f"Written by `python -m benchmarks report` from the files in `results/`. Hardware: {hardware()}.",
    ]
    for section in SECTIONS:
        parts += section()
    target.write_text("\n\n".join(parts) + "\n")
