"""What a study holds, as pictures."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from regretstop import Certificate
from regretstop.plotting import (
    BoundHistory,
    BoundParts,
    Optimum,
    Theme,
    bound_parts_of,
    draw_plotly,
    optimum_of,
)
from regretstop_optuna import _attributes as attributes
from regretstop_optuna._constraints import is_feasible
from regretstop_optuna._memory import memory_of
from regretstop_optuna._observations import has_value
from regretstop_optuna._storage import all_trials, user_attributes
from regretstop_optuna.check import check_study
from regretstop_optuna.decision import models_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # pyright: ignore[reportMissingTypeStubs]


def plot_regret_bound(study: Study, *, theme: Theme = "light") -> "Figure":
    """Draw the regret bound against ε over the trials, with plotly.

    The bounds are those that were stored when the study was assessed: the picture shows what was
    decided. If several rules were, it shows the one that was last.

    Args:
        study: A study that was assessed by `RegretBoundCallback` or `should_stop`.
        theme: "light" or "dark".

    Raises:
        ValueError: If the study holds no bounds, or has several objectives.
    """
    return draw_plotly.regret_bound(bound_history(study), theme)


def plot_probability_left(study: Study, *, theme: Theme = "light") -> "Figure":
    """Draw the stored probability that something better by more than ε remains, with plotly.

    Args:
        study: A study that was assessed by `RegretBoundCallback` or `should_stop`.
        theme: "light" or "dark".

    Raises:
        ValueError: If it was never estimated, the study holds no bounds, or has several objectives.
    """
    return draw_plotly.probability_left(bound_history(study), theme)


def plot_bound_parts(study: Study, *, theme: Theme = "light") -> "Figure":
    """Draw what the bound of the latest certificate, and of decisions, is made of, with plotly.

    A study does not keep as much of earlier certificates: `regretstop.plotting.plot_bound_parts(replay(study, rule))`
    computes them again.

    Args:
        study: A study that was assessed by `RegretBoundCallback` or `should_stop`.
        theme: "light" or "dark".

    Raises:
        ValueError: If no certificate says it, the study holds no bounds, or has several objectives.
    """
    return draw_plotly.bound_parts(bound_parts(study), theme)


def plot_optimum(study: Study, *, params: Sequence[str] | None = None, theme: Theme = "light") -> "Figure":
    """Draw where the optimum can still be, given the finished trials, with plotly.

    See `regretstop.plotting.plot_optimum`. ε is that of the latest certificate, if there is one.

    Args:
        study: A study with any sampler. A `GPUCBSampler` lends its model.
        params: One or two parameters; the other ones are those of the certified trial.
        theme: "light" or "dark".

    Raises:
        ValueError: If there are too few observations for a model, the space is none that can be modelled, or there are
            no such parameters.
    """
    return draw_plotly.optimum(optimum(study, params), theme)


def bound_history(study: Study) -> BoundHistory:
    """Return what both backends draw.

    Raises:
        ValueError: If the study holds no bounds, or has several objectives.
    """
    stored, latest = _latest(study)
    last = latest.certificate
    decisions = [
        decision
        for decision in attributes.stored_decisions(stored)
        if decision.certificate.asker == last.asker and _stops_at(decision.certificate, last)
    ]
    finished = [t for t in all_trials(study) if t.state.is_finished()]
    after = attributes.bounds_after(stored, last.asker)
    found: list[attributes.Bounds] = []
    for trial in finished:
        # Between two tests the last one stands.
        found.append(after.get(trial.number, found[-1] if found else attributes.Bounds(math.nan, math.nan, math.nan)))
    return BoundHistory(
        trials=[t.number for t in finished],
        bounds=[each.bound for each in found],
        gaps=[each.gap for each in found],
        values=[_value(t) for t in finished],
        epsilon=last.shown.epsilon,
        rule=last.shown.rule,
        stopped_at=decisions[-1].trial if decisions else None,
        direction="maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize",
        left=[each.left for each in found],
        objective=_objective(study),
    )


def bound_parts(study: Study) -> BoundParts:
    """Return what both backends draw.

    Raises:
        ValueError: If no certificate says what its bound is made of, the study holds none, or has several objectives.
    """
    stored, latest = _latest(study)
    rule = latest.certificate.asker
    known = {each.trial: each.certificate for each in attributes.stored_decisions(stored)}
    known = {trial: each for trial, each in known.items() if each.asker == rule} | {latest.trial: latest.certificate}
    trials = sorted(known)
    return bound_parts_of(trials, [known[trial] for trial in trials], objective=_objective(study))


def optimum(study: Study, params: Sequence[str] | None = None) -> Optimum:
    """Return what both backends draw.

    Raises:
        ValueError: If there are too few observations for a model, the space is none that can be modelled, or there are
            no such parameters.
    """
    check_study(study)
    memory = memory_of(study)
    view = memory.view(study)
    if view.obstacle is not None or not view.tree.axes:
        raise ValueError(f"where the optimum can be is not known: {view.obstacle or view.missing}")
    latest = attributes.latest_certificate(user_attributes(study))
    last = None if latest is None else latest.certificate
    models = models_of(study) or memory.models
    with models.lock:
        model = models.get(study, view.tree)
        model.replace_history(view.modelled())
        return optimum_of(
            model,
            epsilon=last.epsilon if last is not None and last.measure == "regret" else None,
            incumbent=None if last is None else last.incumbent,
            params=params,
            objective=_objective(study),
        )


def _latest(study: Study) -> tuple[attributes.Attributes, attributes.StoredCertificate]:
    check_study(study)
    stored = user_attributes(study)
    latest = attributes.latest_certificate(stored)
    if latest is None:
        raise ValueError(f"study {study.study_name!r} holds no regret bounds: run it with RegretBoundCallback")
    return stored, latest


def _objective(study: Study) -> str:
    names = study.metric_names
    return names[0] if names else "objective"


def _stops_at(decision: Certificate, last: Certificate) -> bool:
    """Return whether a decision is one at the ε of the latest certificate, too."""
    return (
        decision.stop if decision.asked.combination or decision.guarantee == "none" else decision.bound < last.epsilon
    )


def _value(trial: FrozenTrial) -> float:
    """Return the observed value, NaN for a trial that is no observation, or not feasible."""
    return math.nan if trial.value is None or not (has_value(trial) and is_feasible(trial)) else trial.value
