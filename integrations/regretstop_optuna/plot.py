"""The stored bounds of a study as a picture."""

import math
from typing import TYPE_CHECKING

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from regretstop.plotting import BoundHistory, draw_plotly
from regretstop_optuna import _attributes as attributes
from regretstop_optuna._certify import require_one_objective
from regretstop_optuna._storage import all_trials

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
    require_one_objective(study)
    last = attributes.latest(attributes.stored_certificates(study))
    if last is None:
        raise ValueError(f"study {study.study_name!r} holds no regret bounds: run it with RegretBoundCallback")
    stored = attributes.stored_certificates(study, last.rule)
    certificates = {after.trial: after.certificate for after in stored}
    decisions = [
        decision
        for decision in attributes.stored_decisions(study)
        if decision.certificate.rule == last.rule and decision.certificate.bound < last.epsilon
    ]
    finished = [t for t in all_trials(study) if t.state.is_finished()]
    found = [certificates.get(t.number) for t in finished]
    return BoundHistory(
        trials=[t.number for t in finished],
        bounds=[math.nan if c is None else c.bound for c in found],
        gaps=[math.nan if c is None else c.optimality_gap for c in found],
        values=[_value(t) for t in finished],
        epsilon=last.epsilon,
        rule=last.rule,
        stopped_at=decisions[-1].trial if decisions else None,
        direction="maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize",
    )


def _value(trial: FrozenTrial) -> float:
    """Return the observed value, NaN for a trial that is no observation."""
    if trial.state != TrialState.COMPLETE or trial.value is None or math.isinf(trial.value):
        return math.nan
    return trial.value
