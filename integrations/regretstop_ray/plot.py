# pyright: reportMissingTypeStubs=false
# Ray is only partly typed.
"""An experiment, as pictures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regretstop.plotting import (
    BoundHistory,
    BoundParts,
    Optimum,
    Theme,
    bound_parts_of,
    draw_plotly,
    history_of,
    optimum_of,
)
from regretstop_ray._certificate import TrialCertificate
from regretstop_ray.report import Source, certificate_of, stored_record
from regretstop_ray.search import GPUCBSearch
from regretstop_ray.stopper import RegretBoundStopper

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def plot_regret_bound(source: Source, *, theme: Theme = "light") -> "Figure":
    """Draw the stored regret bounds against ε over the trials, in the order in which they ended, with plotly.

    Args:
        source: As for `certificate_of`.
        theme: "light" or "dark".

    Raises:
        ValueError: If there are no bounds.
    """
    return draw_plotly.regret_bound(bound_history(source), theme)


def plot_probability_left(source: Source, *, theme: Theme = "light") -> "Figure":
    """Draw the estimated probability that something better by more than ε remains, with plotly.

    Args:
        source: As for `certificate_of`.
        theme: "light" or "dark".

    Raises:
        ValueError: If it was never estimated, or there are no bounds.
    """
    return draw_plotly.probability_left(bound_history(source), theme)


def plot_bound_parts(source: Source, *, theme: Theme = "light") -> "Figure":
    """Draw what the bound is made of over the trials, with plotly: exploration, confidence, noise and grid.

    Args:
        source: As for `certificate_of`.
        theme: "light" or "dark".

    Raises:
        ValueError: If no certificate says it, or there are no bounds.
    """
    return draw_plotly.bound_parts(bound_parts(source), theme)


def plot_optimum(
    source: RegretBoundStopper | GPUCBSearch, *, params: Sequence[str] | None = None, theme: Theme = "light"
) -> "Figure":
    """Draw where the optimum can still be, with plotly; see `regretstop.plotting.plot_optimum`.

    Args:
        source: The stopper or the searcher, which have the model. Of an experiment that is over:
            `regretstop.plotting.plot_optimum(replay(results, epsilon=...))`.
        params: One or two parameters, nested keys joined by "/"; the other ones are those of the certified trial.
        theme: "light" or "dark".

    Raises:
        ValueError: If there is no model, or no such parameters.
    """
    return draw_plotly.optimum(optimum(source, params), theme)


def bound_history(source: Source) -> BoundHistory:
    """Return what both backends draw: of several rules, the one that was last.

    Trials are counted from 0 in the order in which they ended: where they run one by one, by their numbers.

    Raises:
        ValueError: If there are no bounds.
    """
    record = stored_record(source)
    found = _certificates(source, record)
    values = {trial["ended_as"]: trial["value"] for trial in record["trials"]}
    ended = range(1, max(found) + 1)
    return history_of(
        [n - 1 for n in ended],
        [found.get(n) for n in ended],
        [values.get(n) for n in ended],
        direction="maximize" if record["mode"] == "max" else "minimize",
        stopped_at=max(found) - 1 if found[max(found)].stop else None,
        objective=record["metric"],
    )


def bound_parts(source: Source) -> BoundParts:
    """Return what both backends draw.

    Raises:
        ValueError: If no certificate says what its bound is made of, or there are no bounds.
    """
    record = stored_record(source)
    found = _certificates(source, record)
    return bound_parts_of([n - 1 for n in found], list(found.values()), objective=record["metric"])


def optimum(source: RegretBoundStopper | GPUCBSearch, params: Sequence[str] | None = None) -> Optimum:
    """Return what both backends draw.

    Raises:
        ValueError: If there is no model, or no such parameters.
    """
    if not isinstance(source, RegretBoundStopper | GPUCBSearch):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"where the optimum can be needs the stopper or the searcher, which have the model, got source={source!r}: "
            "of an experiment that is over, replay has it, too"
        )
    log = source.log
    obstacle = log.obstacle() or (None if log.space is not None and log.n_ended else "too few observations: none yet")
    if obstacle is not None:
        raise ValueError(f"where the optimum can be is not known: {obstacle}")
    last = certificate_of(source)
    return optimum_of(
        log.optimizer(),
        epsilon=last.epsilon if last is not None and last.measure == "regret" else None,
        incumbent=None if last is None else last.incumbent,
        params=params,
        objective=log.metric or "objective",
    )


def _certificates(source: Source, record: dict[str, Any]) -> dict[int, TrialCertificate]:
    """Return the certificates of the rule that was last, by the number of trials that had ended, in order."""
    if not record["certificates"]:
        raise ValueError(f"{source!r} holds no regret bounds: run the experiment with a RegretBoundStopper")
    rule = record["certificates"][-1]["rule"]
    return {
        stored["n_ended"]: TrialCertificate.from_dict(stored["certificate"])
        for stored in record["certificates"]
        if stored["rule"] == rule
    }
