"""The command line: its options, and what is printed where."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Can I stop this hyperparameter search now, and what do I know if I do?",
)

RuleName = Literal["UCBbr", "OptimalityGap", "PRB", "DeltaCB", "DeltaES", "AcquisitionThreshold"]
_JSON = "Write the answer as JSON into this file; - for standard output, and what is for people to standard error."


@app.command()
def check(
    storage: Annotated[
        str,
        typer.Argument(
            help="An Optuna storage (a URL such as sqlite:///study.db, a database file, or a journal), the directory "
            "of a Ray Tune experiment, or a CSV file with a row for each trial."
        ),
    ],
    study: Annotated[
        str | None, typer.Argument(help="Of an Optuna storage, which study: needed if it has several.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option(help="ε, in the objective's units: how much better the optimum may be.")
    ] = ...,  # pyright: ignore[reportArgumentType]
    delta: Annotated[float, typer.Option(help="δ, the probability with which a bound may fail.")] = 0.05,
    rule: Annotated[RuleName, typer.Option(help="The stopping rule.")] = "UCBbr",
    best_possible: Annotated[
        float | None,
        typer.Option(help="The best value that the objective could ever have: 1.0 for an accuracy, 0.0 for a loss."),
    ] = None,
    value: Annotated[
        str | None, typer.Option(help="Of a CSV file the column of the objective ('value'); of Ray the metric.")
    ] = None,
    direction: Annotated[
        Literal["minimize", "maximize"] | None,
        typer.Option(help="Of a CSV file, and of a Ray experiment that does not tell: what is done to the objective."),
    ] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="NAME=LOW:HIGH[:log]",
            help="The range that a parameter was searched in, where it is not known: of a CSV file, or of a Ray "
            "experiment without a GPUCBSearch. By default that of its values. Once for each parameter.",
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a report with plots into this file.")] = None,
    json_path: Annotated[str | None, typer.Option("--json", metavar="FILE", help=_JSON)] = None,
) -> None:
    """Say when a search that is over would have stopped, what that would have saved, and what is certified now."""
    people = Console(stderr=json_path == "-")
    with _named_errors():
        # Here: whoever asks for help does not wait for SciPy.
        from regretstop import Geometric
        from regretstop_cli._answer import Answer
        from regretstop_cli._files import check_writable, write
        from regretstop_cli._sources import open_search
        from regretstop_cli._table import check_table

        chosen = _rule(rule, epsilon, delta)
        if html is not None:
            check_writable("--html", html)
        if json_path not in (None, "-"):
            check_writable("--json", Path(json_path))
        search = open_search(
            storage, study, value=value, direction=direction, ranges=ranges or [], best_possible=best_possible
        )
        # What comes after the stop is for the picture only: a test at each quarter more is enough for that.
        found = _with_progress(
            "Asking the rule", search.n_trials, lambda tick: search.replay(chosen, Geometric(10, 1.25), tick)
        )
    answer = Answer(search, chosen, found)
    people.print(check_table(answer, people.width))
    people.print(str(answer.replay.certificates[-1]), markup=False, highlight=False, soft_wrap=True)
    if json_path is not None:
        _write_json(answer.to_dict(), json_path)
    if html is not None:
        from regretstop_cli._report import report

        page = report(answer)
        with _named_errors():
            write("--html", html, page)
        people.print(f"Report: {html}", markup=False, highlight=False, soft_wrap=True)


@app.command()
def bound(
    t: Annotated[int, typer.Option(help="Iteration; t − 1 observations have been made.")] = ...,  # pyright: ignore[reportArgumentType]
    posterior_std: Annotated[float, typer.Option(help="σ of the model at the next query, in prior deviations.")] = ...,  # pyright: ignore[reportArgumentType]
    noise_std: Annotated[float, typer.Option(help="Deviation of the noise, in prior deviations.")] = ...,  # pyright: ignore[reportArgumentType]
    dim: Annotated[int, typer.Option(help="Number of parameters.")] = ...,  # pyright: ignore[reportArgumentType]
    delta: Annotated[float, typer.Option(help="δ.")] = 0.05,
    n_l: Annotated[float, typer.Option("--n-L", help="δ/n_L is kept for the Lipschitz constant.")] = 10.0,
    a: Annotated[float, typer.Option(help="P(Lipschitz constant > L) ≤ d a exp(−L²/b²).")] = 1.0,
    b: Annotated[float, typer.Option(help="See a.")] = 1.0,
    side: Annotated[float, typer.Option(help="r, the side of the cube.")] = 1.0,
    json_path: Annotated[str | None, typer.Option("--json", metavar="FILE", help=_JSON)] = None,
) -> None:
    """Print the paper's bound on the regret of the next GP-UCB query (Theorem 3.6), in prior deviations."""
    with _named_errors():
        from regretstop import instantaneous_regret_bound
        from regretstop_cli._table import bound_table

        found = instantaneous_regret_bound(
            t=t, posterior_std=posterior_std, noise_std=noise_std, dim=dim, delta=delta, n_L=n_l, a=a, b=b, side=side
        )
    people = Console(stderr=json_path == "-")
    people.print(bound_table(found, people.width))
    if json_path is not None:
        _write_json({name: _plain(number) for name, number in asdict(found).items()}, json_path)


class _named_errors:
    """Ends the program with one line where an argument is wrong, a file cannot be used, or a framework is missing."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValueError | OSError | ImportError):
            typer.echo(f"regretstop: {error}", err=True)
            raise typer.Exit(2) from error


def _rule(name: RuleName, epsilon: float, delta: float) -> Any:
    import regretstop

    return getattr(regretstop, name)(epsilon, delta)


def _with_progress(words: str, total: int, run: Callable[[Callable[[int], None]], Any]) -> Any:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(words, total=total)
        return run(lambda n: progress.update(task, completed=n))


def _write_json(answer: dict[str, Any], path: str) -> None:
    from regretstop_cli._files import write

    # Standard output may be in an encoding that lacks letters of the answer: there JSON escapes them.
    text = json.dumps(answer, indent=1, allow_nan=False, ensure_ascii=path == "-")
    if path == "-":
        typer.echo(text)
    else:
        with _named_errors():
            write("--json", Path(path), text)


def _plain(number: float) -> float | str:
    """Return a number as strict JSON can say it."""
    return number if abs(number) < float("inf") else str(number)
