"""The stored bounds of a study as a picture."""

import math
from typing import TYPE_CHECKING

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from regretstop import Certificate
from regretstop.plotting import BoundHistory, draw_plotly
from regretstop_optuna import _attributes as attributes
from regretstop_optuna._observations import has_value
from regretstop_optuna._storage import all_trials, user_attributes
from regretstop_optuna.check import check_study

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # pyright: ignore[reportMissingTypeStubs]


def plot_regret_bound(study: Study) -> "Figure":
    """Draw the regret bound against ε over the trials, with plotly.

    The bounds are those that were stored when the study was assessed: the picture shows what was
    decided. If several rules were, it shows the one that was last.

    Args:
        study: A study that was assessed by `RegretBoundCallback` or `should_stop`.

    Raises:
        ValueError: If the study holds no bounds, or has several objectives.
    """
    return draw_plotly(bound_history(study))


def bound_history(study: Study) -> BoundHistory:
    """Return what both backends draw.

    Raises:
        ValueError: If the study holds no bounds, or has several objectives.
    """
    check_study(study)
    stored = user_attributes(study)
    latest = attributes.latest_certificate(stored)
    if latest is None:
        raise ValueError(f"study {study.study_name!r} holds no regret bounds: run it with RegretBoundCallback")
    last = latest.certificate
    decisions = [
        decision
        for decision in attributes.stored_decisions(stored)
        if decision.certificate.asker == last.asker and _stops_at(decision.certificate, last)
    ]
    finished = [t for t in all_trials(study) if t.state.is_finished()]
    after = attributes.bounds_after(stored, last.asker)
    found: list[tuple[float, float]] = []
    for trial in finished:
        # Between two tests the last one stands.
        found.append(after.get(trial.number, found[-1] if found else (math.nan, math.nan)))
    return BoundHistory(
        trials=[t.number for t in finished],
        bounds=[bound for bound, _ in found],
        gaps=[gap for _, gap in found],
        values=[_value(t) for t in finished],
        epsilon=last.shown.epsilon,
        rule=last.shown.rule,
        stopped_at=decisions[-1].trial if decisions else None,
        direction="maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize",
    )


def _stops_at(decision: Certificate, last: Certificate) -> bool:
    """Return whether a decision is one at the ε of the latest certificate, too."""
    return (
        decision.stop if decision.asked.combination or decision.guarantee == "none" else decision.bound < last.epsilon
    )


def _value(trial: FrozenTrial) -> float:
    """Return the observed value, NaN for a trial that is no observation."""
    return math.nan if trial.value is None or not has_value(trial) else trial.value
