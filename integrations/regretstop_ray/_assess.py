"""The certificate of an experiment as it stands."""

from regretstop import Certificate, Rule
from regretstop_ray._certificate import TrialCertificate
from regretstop_ray._log import TrialLog
from regretstop_ray._logging import logger


def assess(log: TrialLog, rule: Rule) -> TrialCertificate:
    """Compute the rule's certificate for the ended trials and keep it in the log."""
    obstacle = log.obstacle()
    if obstacle is None and log.space is not None and log.n_ended:
        try:
            certificate = log.optimizer().certificate(rule)
        except (ArithmeticError, ValueError) as error:
            # A numerical accident must not end a search that is going well.
            obstacle = f"the model could not be fitted: {error}"
        else:
            return _kept(log, rule, certificate)
    if obstacle is not None and obstacle not in _said(log, rule):
        logger.warning(f"No regret bound for the experiment: {obstacle}. It runs on.")
    undecided = rule.undecided(obstacle or "too few observations: none yet", n_excluded=log.n_ended)
    return _kept(log, rule, undecided)


def _kept(log: TrialLog, rule: Rule, certificate: Certificate) -> TrialCertificate:
    found = [(i, r) for i, r in log.trials.items() if r.number == certificate.incumbent]
    trial_id, config = (found[0][0], found[0][1].config) if found else (None, None)
    named = TrialCertificate.about(certificate, trial_id, config)
    log.certificates[repr(rule), log.n_ended] = named.to_dict()
    return named


def _said(log: TrialLog, rule: Rule) -> set[str]:
    return {stored["reason"] for (by, _), stored in log.certificates.items() if by == repr(rule)}
