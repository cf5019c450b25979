"""Whether a study may stop: from what it holds, or from a decision that was stored in it."""

from dataclasses import dataclass

from optuna.study import Study

from regretstop import Certificate, Rule
from regretstop.rules import Epsilon, resolve_rule
from regretstop_optuna import _attributes as attributes
from regretstop_optuna._certify import certify
from regretstop_optuna._logging import logger
from regretstop_optuna._memory import memory_of
from regretstop_optuna._models import Models
from regretstop_optuna._standing import standing
from regretstop_optuna._storage import user_attributes
from regretstop_optuna._write import store_certificate, store_decision
from regretstop_optuna.check import check_study
from regretstop_optuna.progress import tell
from regretstop_optuna.sampler import lender_of


def should_stop(
    study: Study,
    epsilon: Epsilon | None = None,
    delta: float = 0.05,
    rule: Rule | None = None,
) -> bool:
    """Return whether the study is good enough.

    With ε or a rule, a decision that the study holds is honoured if it satisfies them, and no trial has
    shown since that it was wrong. Otherwise the completed trials are assessed, and the certificate, with
    the decision if there is one, is stored as `RegretBoundCallback` does. With neither, the stored
    decision alone counts.

    It serves the ask-and-tell interface, where nothing else could end the loop, and a study that is
    resumed: Optuna runs callbacks after a trial, so one more would be spent on finding out that the
    study is done.

        while not should_stop(study, epsilon=0.01):
            trial = study.ask()
            study.tell(trial, evaluate(trial))

        if not should_stop(study, epsilon=0.01):
            study.optimize(objective, callbacks=[RegretBoundCallback(epsilon=0.01)])

    Args:
        study: The study, with any sampler. A `GPUCBSampler` lends its model.
        epsilon: ε in the objective's units, or "standard error": see `RegretBoundCallback`.
        delta: δ in (0, 1), the probability with which a bound may fail.
        rule: A stopping rule; it overrides the two numbers.

    Raises:
        ValueError: If ε or δ is out of its range, or the study has several objectives.
    """
    check_study(study)
    memory = memory_of(study)
    view = memory.view(study)
    if epsilon is None and rule is None:
        return standing(study, memory, view) is not None
    rule = resolve_rule(epsilon, delta, rule, has_scores=True)
    if not view.observations:
        return False
    return decide(study, rule, models_of(study) or memory.models).certificate.stop


def certificate_of(study: Study, rule: Rule | None = None) -> Certificate | None:
    """Return the certificate of the study's decision, or else the latest; None if it holds none.

    With a rule, return what it says of the finished trials, and store nothing:

        print(certificate_of(study, OptimalityGap(epsilon=0.1, schedule=Every())))

    Args:
        study: The study, with any sampler. A `GPUCBSampler` lends its model.
        rule: A stopping rule; None for what is stored.

    Raises:
        ValueError: If it is no rule, or the study has several objectives.
    """
    check_study(study)
    memory = memory_of(study)
    if rule is not None:
        rule = resolve_rule(None, None, rule, has_scores=True)
        return certify(study, memory.view(study), rule, models_of(study) or memory.models).certificate
    stored = standing(study, memory, memory.view(study))
    if stored is not None:
        return stored
    latest = attributes.latest_certificate(user_attributes(study))
    return None if latest is None else latest.certificate


@dataclass(frozen=True)
class Decision:
    """What is decided of a study.

    Attributes:
        certificate: What it rests on; the study is to stop if that says so.
        is_standing: Whether it was decided before.
    """

    certificate: Certificate
    is_standing: bool


def decide(study: Study, rule: Rule, models: Models, trial: int | None = None) -> Decision:
    """Return the decision that the study holds to the satisfaction of the rule, or else make and store one.

    Args:
        study: The study, with a finished trial.
        rule: The stopping rule.
        models: What to assess the study with.
        trial: Number of the trial after which it is; the last finished one if None.
    """
    memory = memory_of(study)
    view = memory.view(study)
    stored = standing(study, memory, view, rule)
    if stored is not None:
        return Decision(stored, is_standing=True)
    assessment = certify(study, view, rule, models)
    certificate = assessment.certificate
    if view.since and rule.claims and memory.is_news(f"changed since {view.since}"):
        # It is inferred, and people may know better.
        logger.info(
            f"The space of the study is another since trial {view.since}: bounds are about that one, and earlier "
            "trials count where they have just its parameters."
        )
    if assessment.kind is not None and rule.claims and not certificate.stop:
        is_new = memory.is_news(assessment.kind)
        previous = attributes.latest_certificates(user_attributes(study)).get(certificate.asker)
        is_known = previous is not None and any(s.reason == assessment.obstacle for s in previous.certificate.said)
        if is_new and not is_known:
            logger.warning(f"No regret bound for the study: {assessment.obstacle}. It runs on.")
    trial = view.observations[-1].number if trial is None else trial
    store_certificate(study, memory, trial, certificate, rule)
    if certificate.stop:
        store_decision(study, memory, trial, certificate, rule)
        logger.info(f"The study stops: {certificate.summary()}")
    elif assessment.obstacle is None:
        tell(study, memory, certificate)
    return Decision(certificate, is_standing=False)


def models_of(study: Study) -> Models | None:
    """Return the models of the study's sampler, None if it has none to lend."""
    lender = lender_of(study)
    return None if lender is None else lender.models
