"""The certificate of an experiment as it stands."""

from regretstop import Certificate, Forecast, Rule, forecast
from regretstop_ray._certificate import TrialCertificate
from regretstop_ray._log import TrialLog
from regretstop_ray._logging import logger

# As many certificates as a forecast looks at, with some to spare for infinite bounds.
_LATEST = 8


def assess(log: TrialLog, rule: Rule) -> TrialCertificate:
    """Compute the rule's certificate for the ended trials and keep it in the log."""
    certificate, obstacle = certify(log, rule)
    if obstacle is not None and rule.claims and not certificate.stop and obstacle not in _said(log, rule):
        logger.warning(f"No regret bound for the experiment: {obstacle}. It runs on.")
    log.certificates[repr(rule), log.n_ended] = certificate.to_dict()
    return certificate


def certify(log: TrialLog, rule: Rule) -> tuple[TrialCertificate, str | None]:
    """Return the rule's certificate for the ended trials, and what stands in the way of ever getting a finite one."""
    obstacle = log.obstacle()
    if obstacle is None and log.space is not None and log.n_ended:
        try:
            return _named(log, log.optimizer().certificate(rule)), None
        except (ArithmeticError, ValueError) as error:
            # A numerical accident must not end a search that is going well.
            obstacle = f"the model could not be fitted: {error}"
    sign = 1.0 if log.mode == "max" else -1.0
    undecided = rule.without_model(obstacle or "too few observations: none yet", log.observations(), sign)
    return _named(log, undecided), obstacle


def forecast_of(log: TrialLog, rule: Rule, *, own_points: bool) -> Forecast | None:
    """Return how many more trials it takes by the certificates that were kept, as past searches went on.

    Args:
        log: The trials and certificates.
        rule: The rule that they are by.
        own_points: Whether a `GPUCBSearch` chooses the points.
    """
    numbers = sorted(n for by, n in log.certificates if by == repr(rule))
    latest = [Certificate.from_dict(log.certificates[repr(rule), n]) for n in numbers[-_LATEST:]]
    return forecast(latest, own_points=own_points)


def _named(log: TrialLog, certificate: Certificate) -> TrialCertificate:
    found = [(i, r) for i, r in log.trials.items() if r.number == certificate.incumbent]
    if not found or log.space is None:
        return TrialCertificate.about(certificate, None, None)
    trial_id, record = found[0]
    # Of an evaluation from elsewhere the record has all that was given.
    return TrialCertificate.about(certificate, trial_id, log.space.nested(record.config))


def _said(log: TrialLog, rule: Rule) -> set[str]:
    of_rule = [stored for (by, _), stored in log.certificates.items() if by == repr(rule)]
    return {each["reason"] for stored in of_rule for each in (stored, *stored.get("others", ()))}
