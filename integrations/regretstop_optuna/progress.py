"""How far a study is from its stop, for people: in the log now and then, and whenever somebody asks."""

from optuna.study import Study

from regretstop import Certificate, Forecast
from regretstop.prose import standing
from regretstop.schedule import PROGRESS
from regretstop.statement import Said, forecast_after
from regretstop_optuna import _attributes as attributes
from regretstop_optuna._logging import logger
from regretstop_optuna._memory import Memory
from regretstop_optuna._storage import user_attributes
from regretstop_optuna.check import check_study
from regretstop_optuna.sampler import lender_of


def forecast_of(study: Study) -> Forecast | None:
    """Return how many more trials it takes until the bound is below ε, as past searches went on.

        print(forecast_of(study))  # about 12 more evaluations, with 80% 5 to 30

    It is about the rule that was asked last, and from what the study holds: `RegretBoundCallback` and `should_stop`
    store it.

    Args:
        study: The study, with any sampler. That of points by a `GPUCBSampler` is a surer one.

    Returns:
        None where the study was stopped, or too few finite bounds are stored.

    Raises:
        ValueError: If the study has several objectives.
    """
    check_study(study)
    latest = attributes.latest_certificate(user_attributes(study))
    return None if latest is None else _forecast(study, latest.certificate)


def tell(study: Study, memory: Memory, certificate: Certificate) -> None:
    """Log where the study stands, ten times in a hundred trials."""
    due = PROGRESS.due(certificate.n_observations, 1).test
    with memory.lock:
        if due <= memory.told.get(certificate.asker, 0):
            return
        memory.told[certificate.asker] = due
    phrase = standing(certificate, _forecast(study, certificate))
    logger.info(f"{certificate.asker} after {certificate.n_observations} trials: {phrase}")


def _forecast(study: Study, now: Certificate) -> Forecast | None:
    rows = attributes.stored_rows(user_attributes(study), now.asker)
    trail = [Said(row.n, row.bound, row.left) for row in rows]
    return forecast_after(trail, now, own_points=lender_of(study) is not None)
