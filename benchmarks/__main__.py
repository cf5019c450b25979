"""Command line of the benchmarks."""

from typing import Annotated

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.command()
def speed(
    repetitions: Annotated[int, typer.Option(min=1, help="Of each timing.")] = 9,
) -> None:
    """Times, beside SLSQP, BoTorch and Optuna's GPSampler. Give it one thread."""
    from benchmarks.speed import run

    run(repetitions)


@app.command()
def tune(
    repetitions: Annotated[int, typer.Option(min=1, help="Of each timing.")] = 5,
) -> None:
    """Times of the Ray Tune adapter, beside Optuna's searcher."""
    from benchmarks.tune import run

    run(repetitions)


@app.command()
def coverage(
    draws: Annotated[int, typer.Option(min=1, help="Draws for each cell.")] = 200,
    processes: Annotated[int, typer.Option(min=1, help="Paths at a time; give each one thread.")] = 1,
) -> None:
    """False certificates where the model is true: kernel known, and unknown but drawn from the priors."""
    from benchmarks.coverage import run

    run(draws, processes)


@app.command()
def misspecified(
    seeds: Annotated[int, typer.Option(min=1, help="Paths for each problem.")] = 20,
    trials: Annotated[int, typer.Option(min=8, help="Length of a path.")] = 60,
    processes: Annotated[int, typer.Option(min=1, help="Paths at a time; give each one thread.")] = 1,
) -> None:
    """False stops on problems that are no draw of the model, beside Optuna's terminator."""
    from benchmarks.misspecified import run

    run(seeds, trials, processes)


@app.command()
def model_check(
    seeds: Annotated[int, typer.Option(min=1, help="Paths for each problem.")] = 20,
) -> None:
    """How often the model check holds models back that are right, and models that are wrong."""
    from benchmarks.model_check import run

    run(seeds)


@app.command()
def modes(
    seeds: Annotated[int, typer.Option(min=1, max=3, help="Stored paths of each problem.")] = 1,
) -> None:
    """What searching for the modes of the hyperparameters changed, along stored points."""
    from benchmarks.modes import run

    run(seeds)


@app.command()
def samplers(
    seeds: Annotated[int, typer.Option(min=1, help="Paths for each problem and sampler.")] = 5,
    trials: Annotated[int, typer.Option(min=8, help="Length of a path.")] = 56,
    processes: Annotated[int, typer.Option(min=1, help="Paths at a time; give each one thread.")] = 1,
) -> None:
    """How soon rules stop, and how good the best value is, by how the points are chosen."""
    from benchmarks.samplers import run

    run(seeds, trials, processes)


@app.command()
def tables(
    seeds: Annotated[int, typer.Option(min=1, help="Paths for each row, kernel and sampler.")] = 10,
    processes: Annotated[int, typer.Option(min=1, help="Paths at a time; give each one thread.")] = 1,
    problems: Annotated[list[str] | None, typer.Option(help="Rows; all but CNN if left out.")] = None,
    samplers: Annotated[list[str] | None, typer.Option(help="Samplers; all if left out.")] = None,
    treatments: Annotated[
        list[str] | None, typer.Option(help="How rules treat unknown hyperparameters; both ways if left out.")
    ] = None,
    trials: Annotated[int | None, typer.Option(min=8, help="Ends the paths earlier.")] = None,
    cnn: Annotated[
        bool, typer.Option("--cnn", help="The network on digits too: some five seconds an evaluation.")
    ] = False,
) -> None:
    """The paper's tables: every rule on the paper's rows."""
    from benchmarks import paper
    from benchmarks.paper_problems import CNN, ROWS

    names = [name for name in ROWS if name != CNN] if problems is None else problems
    chosen = list(paper.SAMPLERS) if samplers is None else samplers
    unknown_by = list(paper.UNKNOWN) if treatments is None else treatments
    for option, values, known in (
        ("--problems", names, tuple(ROWS)),
        ("--samplers", chosen, paper.SAMPLERS),
        ("--treatments", unknown_by, paper.UNKNOWN),
    ):
        if unknown := [value for value in values if value not in known]:
            raise typer.BadParameter(f"{option} must be of {', '.join(known)}, got {', '.join(unknown)}")
    paper.run(seeds, processes, [*names, CNN] if cnn else names, chosen, trials, tuple(unknown_by))


@app.command()
def ablations(
    seeds: Annotated[int, typer.Option(min=1, help="Paths for each row and √β.")] = 10,
    processes: Annotated[int, typer.Option(min=1, help="Paths at a time; give each one thread.")] = 1,
    problems: Annotated[list[str] | None, typer.Option(help="Rows; all if left out.")] = None,
    trials: Annotated[int | None, typer.Option(min=8, help="Ends the paths earlier.")] = None,
) -> None:
    """The paper's ablations of B, δ and n_L."""
    from benchmarks.ablations import NAMES, run

    run(seeds, processes, list(NAMES) if problems is None else problems, trials)


@app.command()
def doubt(
    seeds: Annotated[int, typer.Option(min=1, help="Searches for each problem.")] = 20,
    processes: Annotated[int, typer.Option(min=1, help="Searches at a time; give each one thread.")] = 1,
) -> None:
    """When rules stop, and how often falsely, where the kernel is unknown: the mode, samples, and two deviations."""
    from benchmarks.doubt import run

    run(seeds, processes)


@app.command()
def forecast(
    seeds: Annotated[int, typer.Option(min=1, help="Searches for each problem and sampler.")] = 4,
    processes: Annotated[int, typer.Option(min=1, help="Searches at a time; give each one thread.")] = 1,
) -> None:
    """Whole searches by the default rule, for how often the 80 % intervals of forecasts hold."""
    from benchmarks.forecast import run

    run(seeds, processes)


@app.command()
def width(
    draws: Annotated[int, typer.Option(min=1, help="Draws for each cell.")] = 20,
    processes: Annotated[int, typer.Option(min=1, help="Searches at a time; give each one thread.")] = 1,
) -> None:
    """When rules stop, and how often falsely, on draws of a known kernel with few hills or thousands."""
    from benchmarks.width import run

    run(draws, processes)


@app.command()
def continuations(
    seeds: Annotated[int, typer.Option(min=1, help="Searches for each problem.")] = 3,
    processes: Annotated[int, typer.Option(min=1, help="Searches at a time; give each one thread.")] = 1,
) -> None:
    """Forecasts by simulation: searches continued on draws of their posterior."""
    from benchmarks.continuations import run

    run(seeds, processes)


@app.command()
def jobs(
    seeds: Annotated[int, typer.Option(min=1, help="Searches for each job and sampler.")] = 20,
    processes: Annotated[int, typer.Option(min=1, help="Searches at a time; give each one thread.")] = 1,
) -> None:
    """Stops on real tuning jobs, whoever chooses the points; first the tables of the jobs are made, for hours."""
    from benchmarks import job_tables, standard_errors
    from benchmarks.jobs import run

    job_tables.record(processes=processes)
    standard_errors.record()
    run(seeds, processes)


@app.command()
def pruned(
    seeds: Annotated[int, typer.Option(min=1, help="Studies for each job, sampler and pruner.")] = 10,
    processes: Annotated[int, typer.Option(min=1, help="Studies at a time; give each one thread.")] = 1,
) -> None:
    """Certificates with and without what pruned trials showed; first the curves are made, for some minutes."""
    from benchmarks import curve_jobs
    from benchmarks.pruned import run

    curve_jobs.record()
    run(seeds, processes)


@app.command()
def constrained(
    seeds: Annotated[int, typer.Option(min=1, help="Searches for each problem and way.")] = 20,
    processes: Annotated[int, typer.Option(min=1, help="Searches at a time; give each one thread.")] = 1,
) -> None:
    """Stops where better points are forbidden, with and without a model of the constraints."""
    from benchmarks.constrained import run

    run(seeds, processes)


@app.command()
def others(
    seeds: Annotated[int, typer.Option(min=1, help="Searches for each problem and sampler.")] = 10,
    processes: Annotated[int, typer.Option(min=1, help="Searches at a time; give each one thread.")] = 1,
) -> None:
    """Stops of the default rule beside other samplers, on test functions."""
    from benchmarks.others import run

    run(seeds, processes)


@app.command()
def conditional(
    seeds: Annotated[int, typer.Option(min=1, help="Searches for each study and sampler.")] = 20,
    processes: Annotated[int, typer.Option(min=1, help="Searches at a time; give each one thread.")] = 1,
) -> None:
    """Stops in conditional Optuna studies, and how good the searches are; first their tables are made, if need be."""
    from benchmarks import conditional_tables
    from benchmarks.conditional import run

    conditional_tables.record()
    run(seeds, processes)


@app.command()
def runtime(
    repetitions: Annotated[int, typer.Option(min=1, help="Of each timing.")] = 9,
) -> None:
    """The paper's table of times: each rule an iteration, beside Optuna and scikit-optimize. Give it one thread."""
    from benchmarks.runtime import run

    run(repetitions)


@app.command()
def report() -> None:
    """Write RESULTS.md, its tables and its pictures from whatever records there are."""
    from benchmarks.report import write

    write()


if __name__ == "__main__":
    app()
