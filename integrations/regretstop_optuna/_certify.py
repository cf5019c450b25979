"""The certificate of a study as it stands."""

from dataclasses import dataclass

from optuna.study import Study, StudyDirection

from regretstop import Certificate, Rule
from regretstop_optuna._digest import View
from regretstop_optuna._models import Models


@dataclass(frozen=True)
class Assessment:
    """A certificate, and what in the study stands in the way of ever getting a finite one.

    Attributes:
        certificate: The certificate.
        obstacle: In words; None if nothing does, or merely data are missing.
    """

    certificate: Certificate
    obstacle: str | None


def certify(study: Study, view: View, rule: Rule, models: Models) -> Assessment:
    """Return the rule's certificate for all finished trials of the study, as the view has them.

    It is computed from what the study holds, so trials that were resumed, enqueued, added or run
    elsewhere count in full, whichever sampler chose them.
    """
    obstacle = view.obstacle
    if obstacle is None and view.tree.axes:
        with models.lock:
            try:
                model = models.get(study, view.tree)
                model.replace_history(view.modelled())
                return Assessment(model.certificate(rule), None)
            except (ArithmeticError, ValueError) as error:
                # A numerical accident must not end a search that is going well.
                obstacle = f"the model could not be fitted: {error}"
    sign = 1.0 if study.direction == StudyDirection.MAXIMIZE else -1.0
    certificate = rule.without_model(
        obstacle or view.missing, view.observations, sign, n_observations=view.n_observations
    )
    return Assessment(certificate, obstacle)
