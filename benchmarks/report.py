"""RESULTS.md, its full tables as CSV and its pictures; the same records are the same bytes.

One more experiment is one more module here and one more section, a function that is listed in SECTIONS.
"""

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.records import RESULTS
from benchmarks.sections import (
    conditional,
    constrained,
    coverage,
    doubt,
    draws,
    forecast,
    jobs,
    misspecified,
    model_check,
    modes,
    others,
    paper,
    pruned,
    samplers,
    times,
    width,
)
from benchmarks.sections.section import Section
from benchmarks.tables import table

TARGET = Path(__file__).parent
SECTIONS: tuple[Callable[[Path], Section | None], ...] = (
    jobs.section,
    doubt.section,
    draws.section,
    misspecified.section,
    others.section,
    conditional.section,
    constrained.section,
    forecast.section,
    coverage.section,
    width.section,
    samplers.section,
    paper.section,
    pruned.section,
    modes.section,
    model_check.section,
    times.section,
)
_DIGITS = "%.5g"


def write(target: Path = TARGET, records: Path = RESULTS) -> None:
    """Write the report.

    Args:
        target: Folder of RESULTS.md; pictures and tables go to results/ in it.
        records: Folder of the records.
    """
    sections = sections_of(records)
    for name, text in texts(sections).items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for section in sections:
        path = target / _picture(section)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure = Figure(layout="constrained")
        section.draw(figure)
        figure.savefig(path, dpi=100, metadata={"Software": None})


def sections_of(records: Path) -> list[Section]:
    """Return what there is to say about the records of a folder."""
    return [found for section in SECTIONS if (found := section(records)) is not None]


def texts(sections: list[Section]) -> dict[str, str]:
    """Return the page and the tables, by path from the folder of RESULTS.md."""
    parts = ["# Results", "\n".join(f"* {section.result}" for section in sections), _HOW_TO_READ]
    files: dict[str, str] = {}
    for section in sections:
        links: list[str] = []
        for name, frame in section.tables.items():
            if frame.empty:
                continue
            path = f"results/tables/{name}.csv"
            files[path] = frame.to_csv(index=False, float_format=_DIGITS, lineterminator="\n")
            links.append(f"[{name}]({path})")
        parts += [
            f"## {section.title}",
            section.asked,
            table(section.shown),
            f"![{section.caption}]({_picture(section)})",
            *section.found,
            f"Full tables: {', '.join(links)}.",
        ]
    return {"RESULTS.md": "\n\n".join(part for part in parts if part) + "\n"} | files


def _picture(section: Section) -> str:
    return f"results/{next(iter(section.tables))}.png"


_HOW_TO_READ = (
    "Written by `python -m benchmarks report` from the records in `results/`, which have bounds and regrets in four "
    "digits "
    'and say of which source of the library they are. *Mode* and *samples* are `hyperparameters="map"` and '
    '`"posterior"`; default points are by √β = 2 and exceedance of ε in turn. A stop is *false* if the trial that '
    "the rule names is worse than the optimum by more than ε. A median counts a search that never stopped as later "
    "than all others (∞; in the tables `inf`); intervals are Wilson's at 95 %, of all searches."
)
