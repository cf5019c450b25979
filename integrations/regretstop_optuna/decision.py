"""Whether a study may stop: from what it holds, or from a decision that was stored in it."""

from optuna.study import Study

from regretstop import Certificate, Rule
from regretstop.rules.default import check_repeated, resolve_rule
from regretstop_optuna import _attributes as attributes
from regretstop_optuna._certify import certify, obstacle_of, require_one_objective
from regretstop_optuna._joint import joint_distributions
from regretstop_optuna._logging import logger
from regretstop_optuna._models import Models
from regretstop_optuna._storage import all_trials
from regretstop_optuna.sampler import GPUCBSampler


def should_stop(
    study: Study,
    epsilon: float | None = None,
    delta: float = 0.05,
    rule: Rule | None = None,
) -> bool:
    """Return whether the study is good enough.

    With ε or a rule, a decision that the study holds is honoured if it satisfies them. Otherwise
    the completed trials are assessed, and the certificate, with the decision if there is one, is
    stored as `RegretBoundCallback` does. With neither, the stored decision alone counts.

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
        epsilon: ε in the objective's units.
        delta: δ in (0, 1), the probability with which a bound may fail.
        rule: A stopping rule; it overrides the two numbers.

    Raises:
        ValueError: If ε or δ is out of its range, the rule is for finished searches, or the study has several
            objectives.
    """
    require_one_objective(study)
    if epsilon is None and rule is None:
        return standing_decision(study) is not None
    rule = resolve_rule(epsilon, delta, rule)
    check_repeated(rule)
    if standing_decision(study, rule) is not None:
        return True
    finished = [t.number for t in all_trials(study) if t.state.is_finished()]
    if not finished:
        return False
    return assess(study, max(finished), rule, models_of(study) or Models(seed=0)).stop


def certificate_of(study: Study, rule: Rule | None = None) -> Certificate | None:
    """Return the certificate of the study's decision, or else the latest; None if it holds none.

    With a rule, return what it says of the finished trials, and store nothing:

        print(certificate_of(study, OptimalityGap(epsilon=0.1, schedule=PostHoc())))

    Args:
        study: The study, with any sampler. A `GPUCBSampler` lends its model.
        rule: A stopping rule; None for what is stored.

    Raises:
        ValueError: If it is no rule, or the study has several objectives.
    """
    if rule is not None:
        require_one_objective(study)
        return certify(study, resolve_rule(None, None, rule), models_of(study) or Models(seed=0)).certificate
    return standing_decision(study) or attributes.latest(attributes.stored_certificates(study))


def standing_decision(study: Study, rule: Rule | None = None) -> Certificate | None:
    """Return the last decision, of any rule or to the satisfaction of `rule`; None if there is none.

    A decision falls once the study shows that its space is not the one that was modelled: after a
    resumption with another range, say.
    """
    decision = attributes.latest(attributes.stored_decisions(study, rule))
    if decision is None:
        return None
    trials = all_trials(study)
    return None if obstacle_of(trials, joint_distributions(trials)) else decision


def models_of(study: Study) -> Models | None:
    """Return the models of the study's sampler, None if it has none to lend."""
    return study.sampler.models if isinstance(study.sampler, GPUCBSampler) else None


def assess(study: Study, trial: int, rule: Rule, models: Models) -> Certificate:
    """Compute the certificate after the trial and store it; if it stops, decide and say so."""
    assessment = certify(study, rule, models)
    certificate = assessment.certificate
    if assessment.obstacle is not None:
        previous = attributes.latest(attributes.stored_certificates(study, certificate.rule))
        if previous is None or previous.reason != certificate.reason:
            logger.warning(f"No regret bound for the study: {certificate.reason}. It runs on.")
    attributes.store_certificate(study, trial, certificate)
    if certificate.stop:
        attributes.store_decision(study, trial, certificate, rule)
        logger.info(f"The study stops: {certificate.summary()}")
    return certificate
