"""The certificate of a study as it stands."""

from collections.abc import Sequence
from dataclasses import dataclass

from optuna.study import Study
from optuna.trial import FrozenTrial

from regretstop import Certificate, Rule
from regretstop_optuna._joint import joint_distributions, unmodelled_parameters
from regretstop_optuna._models import Models
from regretstop_optuna._observations import n_observations, observations
from regretstop_optuna._space import Distributions
from regretstop_optuna._storage import all_trials


@dataclass(frozen=True)
class Assessment:
    """A certificate, and what in the study stands in the way of ever getting a finite one.

    Attributes:
        certificate: The certificate.
        obstacle: In words; None if nothing does, or merely data are missing.
    """

    certificate: Certificate
    obstacle: str | None


def require_one_objective(study: Study) -> None:
    """Raise ValueError if the study has several objectives."""
    if len(study.directions) > 1:
        raise ValueError(f"a regret bound is about one objective, the study has {len(study.directions)}")


def certify(study: Study, rule: Rule, models: Models) -> Assessment:
    """Return the rule's certificate for all finished trials of the study.

    It is computed from what the study holds, so trials that were resumed, enqueued, added or run
    elsewhere count in full, whichever sampler chose them.
    """
    trials = all_trials(study)
    joint = joint_distributions(trials)
    obstacle = obstacle_of(trials, joint)
    if obstacle is None and joint:
        with models.lock:
            model = models.get(study, joint)
            model.replace_history(observations(trials))
            try:
                return Assessment(model.certificate(rule), None)
            except (ArithmeticError, ValueError) as error:
                # A numerical accident must not end a search that is going well.
                obstacle = f"the model could not be fitted: {error}"
    n = n_observations(trials)
    certificate = rule.undecided(
        obstacle or "too few observations: none yet",
        n_observations=n,
        n_excluded=sum(t.state.is_finished() for t in trials) - n,
    )
    return Assessment(certificate, obstacle)


def obstacle_of(trials: Sequence[FrozenTrial], joint: Distributions) -> str | None:
    """Return why the model does not describe the study, None if it does."""
    unmodelled = unmodelled_parameters(trials, joint)
    if unmodelled:
        one, names = len(unmodelled) == 1, ", ".join(map(repr, unmodelled))
        return (
            f"{names} {'is' if one else 'are'} not in every trial with the same range, and the model covers neither "
            "conditional parameters nor ranges that change"
        )
    if any(key.split(":")[0] == "constraints" for t in trials for key in t.system_attrs):
        return "the study has constraints, which the model does not cover"
    if not joint and n_observations(trials):
        return "the objective has no parameter that varies"
    return None
