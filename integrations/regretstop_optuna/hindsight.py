"""What a rule would have said of a study that is over."""

import datetime
from collections.abc import Callable
from typing import Any

from optuna.study import Study, StudyDirection

from regretstop import Replay, Rule, Schedule, Surrogate
from regretstop import replay as replay_observations
from regretstop.rules import Epsilon, resolve_rule
from regretstop_optuna._memory import view_of
from regretstop_optuna._observations import seconds_of
from regretstop_optuna._shown import as_shown
from regretstop_optuna.check import check_study
from regretstop_optuna.decision import models_of


def replay(
    study: Study,
    rule: Rule | None = None,
    *,
    epsilon: Epsilon | None = None,
    delta: float = 0.05,
    surrogate: Surrogate | None = None,
    best_possible: float | None = None,
    after_stop: Schedule | None = None,
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """Return what a rule would have said after each finished trial of a study, and store nothing.

        found = replay(study, epsilon=0.01)
        print(found.stop, found.n_saved, found.certificates[-1])

    Whatever sampler chose the points. Trials that failed or were pruned are left out of every fit, and counted.

    Args:
        study: The study.
        rule: A stopping rule; it overrides the two numbers.
        epsilon: ε in the objective's units, or "standard error"; needed unless a rule is given.
        delta: δ in (0, 1).
        surrogate: The model; that of the study's sampler if it is a `GPUCBSampler`, else a `GaussianProcess`, by
            default.
        best_possible: The best value that the objective could ever have; that of the sampler likewise.
        after_stop: As for `regretstop.replay`: when the rule is asked after the stop, where nothing is decided.
        progress: Called with the number of trials that have been replayed.

    Raises:
        ValueError: If ε or δ is out of its range, the study has several objectives or no finished trial with a value,
            or its space is none that can be modelled; the reason is named.
    """
    check_study(study)
    rule = resolve_rule(epsilon, delta, rule, has_scores=True)
    view = view_of(study)
    if view.obstacle is not None or not view.tree.axes:
        raise ValueError(f"the study cannot be replayed: {view.obstacle or view.missing}")
    now = datetime.datetime.now()
    # As when the callback asked: a sampler of ours lent it its model.
    lent = models_of(study)
    options = {} if lent is None else lent.options
    given: dict[str, Any] = {"surrogate": surrogate, "best_possible": best_possible}
    options = {**options, **{name: value for name, value in given.items() if value is not None}}
    return replay_observations(
        view.modelled(),
        view.tree.space(),
        rule=as_shown(rule, view),
        direction="maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize",
        seconds=[seconds_of(view.trials[o.number], now) for o in view.observations],
        after_stop=after_stop,
        progress=progress,
        own_points=lent is not None,
        **options,
    )
