"""What a rule would have said of a study that is over."""

import datetime
from collections.abc import Callable

from optuna.study import Study, StudyDirection

from regretstop import Replay, Rule, Surrogate
from regretstop import replay as replay_observations
from regretstop.rules import Epsilon, resolve_rule
from regretstop_optuna._memory import view_of
from regretstop_optuna._observations import seconds_of
from regretstop_optuna._space import space_from
from regretstop_optuna.check import check_study


def replay(
    study: Study,
    rule: Rule | None = None,
    *,
    epsilon: Epsilon | None = None,
    delta: float = 0.05,
    surrogate: Surrogate | None = None,
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
        surrogate: The model; a `GaussianProcess` by default.
        progress: Called with the number of trials that have been replayed.

    Raises:
        ValueError: If ε or δ is out of its range, the study has several objectives or no finished trial with a value,
            or its space is none that can be modelled; the reason is named.
    """
    check_study(study)
    rule = resolve_rule(epsilon, delta, rule, has_scores=True)
    view = view_of(study)
    if view.obstacle is not None or not view.joint:
        raise ValueError(f"the study cannot be replayed: {view.obstacle or view.missing}")
    now = datetime.datetime.now()
    return replay_observations(
        view.observations,
        space_from(dict(sorted(view.joint.items()))),
        rule=rule,
        direction="maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize",
        surrogate=surrogate,
        seconds=[seconds_of(view.trials[o.number], now) for o in view.observations],
        progress=progress,
    )
