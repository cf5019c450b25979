"""The section of RESULTS.md about coverage."""

from typing import Any

from benchmarks import coverage
from benchmarks.records import read
from benchmarks.tables import exact, exact_interval, sources, spread, table

_ABOUT = {
    "known": "Kernel, noise and mean are declared; the noise has deviation {noise}, and ℓ is {lengthscales}.",
    "unknown": "Lengthscales and noise are drawn from the surrogate's priors (σ truncated to at most {most} of the "
    "deviation of the values, and draws weighed so that it fits the surrogate's prior of s: see `coverage.py`), and "
    "estimated by it. Samples and mode of the hyperparameters are tested on the same data; the mode chose the points.",
}
_COUNTS = {"false certificates": "false", "paths with a violated bound": "violated"}


def section() -> list[str]:
    """Return the Markdown; nothing where there are no records."""
    records = read(coverage.PATH)
    return certificates(records) if records else []


def certificates(records: list[dict[str, Any]]) -> list[str]:
    """Return the Markdown about coverage."""
    parts = ["## Coverage where the model is true"]
    parts.append(
        f"Draws of a Matérn-5/2 process with unit prior deviation, maximised by `GPUCB`; ε = {coverage.EPSILON}, "
        f"δ = {coverage.DELTA}. Finite: exact draws on lattices of {_by_dim(coverage.PER_AXIS)} values an axis. "
        f"Continuous: Fourier features. At most {_by_dim(coverage.TRIALS)} evaluations a path. Each rule is tested "
        "until it stops for the first time: after every second evaluation where the kernel is known, after "
        f"{', '.join(map(str, coverage.TESTS['unknown']))} evaluations where it is not. A certificate is false if the "
        "regret of the trial that it names is above ε, and a bound is violated if it is below that regret, whether the "
        "rule stops or not; UCBbr is asked only where the optimality gap is below ε or violated. Counts are of paths, "
        f"with the 95 % interval of Clopper and Pearson; evaluations are medians (quartiles). {sources(records)}"
    )
    for kernel in coverage.KERNELS:
        paths = [record for record in records if record["kernel"] == kernel]
        if paths:
            parts += _section(kernel, paths)
    return parts


def _section(kernel: str, records: list[dict[str, Any]]) -> list[str]:
    about = _ABOUT[kernel].format(
        noise=coverage.KNOWN_NOISE, lengthscales=_by_dim(coverage.KNOWN_LENGTHSCALE), most=coverage.NOISE_MOST
    )
    rows = _rows(records)
    return [
        f"### Kernel {kernel}",
        about,
        *(_conclusion(treatment, rows) for treatment in coverage.TREATMENTS[kernel]),
        table([_shown(row) for row in rows]),
    ]


def _rows(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    cells: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for record in records:
        for treatment, tallies in record["rules"].items():
            for rule, tally in tallies.items():
                cell = (record["space"], str(record["dim"]), record["beta"], treatment, rule)
                cells.setdefault(cell, []).append(tally)
    order = [coverage.SPACES, tuple(map(str, coverage.TRIALS)), coverage.BETAS]
    return [
        {
            "cell": cell,
            "runs": len(tallies),
            "stops": [tally["stop"] for tally in tallies if tally["stop"] is not None],
            "false": sum(tally["stop"] is not None and tally["regret"] > coverage.EPSILON for tally in tallies),
            "violated": sum(tally["violated"] > 0 for tally in tallies),
        }
        for cell, tallies in sorted(
            cells.items(), key=lambda item: [names.index(name) for names, name in zip(order, item[0], strict=False)]
        )
    ]


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **dict(zip(("space", "d", "β", "hyperparameters", "rule"), row["cell"], strict=True)),
        "certified": f"{len(row['stops'])}/{row['runs']}",
        "evaluations": spread(row["stops"]),
        **{heading: exact(row[name], row["runs"]) for heading, name in _COUNTS.items()},
    }


def _conclusion(treatment: str, rows: list[dict[str, Any]]) -> str:
    """Return in words whether the intervals go with δ."""
    rows = [row for row in rows if row["cell"][3] == treatment]
    parts: list[str] = []
    for heading, name in _COUNTS.items():
        intervals = [(exact_interval(row[name], row["runs"]), row["cell"]) for row in rows]
        above = [
            "/".join((space, f"d = {d}", beta, rule))
            for (low, _), (space, d, beta, _, rule) in intervals
            if low > coverage.DELTA
        ]
        below = sum(high <= coverage.DELTA for (_, high), _ in intervals)
        said = f"above δ, beyond chance, in {', '.join(above)}" if above else "nowhere above δ beyond chance"
        parts.append(f"{heading}: {said} (in {below} of {len(rows)} rows the whole interval is at most δ)")
    n_runs, n_false = sum(row["runs"] for row in rows), sum(row["false"] for row in rows)
    n_stops = sum(len(row["stops"]) for row in rows)
    return (
        f"`hyperparameters={treatment!r}`: {'; '.join(parts)}. In all {n_false} false of {n_stops} certificates in "
        f"{n_runs} runs."
    )


def _by_dim(numbers: dict[int, Any]) -> str:
    return ", ".join(f"{number} (d = {dim})" for dim, number in numbers.items())
