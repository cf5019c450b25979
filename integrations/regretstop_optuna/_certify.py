"""The certificate of a study as it stands."""

from dataclasses import dataclass

from optuna.study import Study

from regretstop import Certificate, Rule
from regretstop_optuna._digest import View
from regretstop_optuna._models import Models
from regretstop_optuna._shown import as_shown
from regretstop_optuna._standing import refuting, sign_of


@dataclass(frozen=True)
class Assessment:
    """A certificate, and what in the study stands in the way of ever getting a finite one.

    Attributes:
        certificate: The certificate.
        obstacle: In words; None if nothing does, or merely data are missing.
        kind: Of what kind it is, whichever numbers or parameters its words name; None without one.
    """

    certificate: Certificate
    obstacle: str | None
    kind: str | None = None


def certify(study: Study, view: View, rule: Rule, models: Models) -> Assessment:
    """Return the rule's certificate for all finished trials of the study, as the view has them.

    It is computed from what the study holds, so trials that were resumed, enqueued, added or run
    elsewhere count in full, whichever sampler chose them.
    """
    obstacle, kind, missing = view.obstacle, view.kind, view.missing
    if obstacle is None and view.tree.axes:
        with models.lock:
            try:
                model = models.get(study, view.tree)
                model.replace_history(view.modelled())
                certificate = model.certificate(as_shown(rule, view))
                missing = _to_be_seen(study, view, certificate)
                if not missing:
                    return Assessment(certificate, None)
            except (ArithmeticError, ValueError) as error:
                # A numerical accident must not end a search that is going well.
                obstacle, kind = f"the model could not be fitted: {error}", "unfitted"
    certificate = rule.without_model(
        obstacle or missing, view.observations, sign_of(study), n_observations=view.n_observations
    )
    return Assessment(certificate, obstacle, kind)


def _to_be_seen(study: Study, view: View, certificate: Certificate) -> str:
    """Return which trial speaks against a stop and was not seen, because no test was due since; empty if none does."""
    for said in certificate.said:
        against = refuting(sign_of(study), view, said) if said.stop and said.guarantee != "none" else None
        if against is not None:
            return (
                f"trial {against.number} is better than trial {said.incumbent} by more than was said of the first "
                f"{said.n_observations} observations, and no test was due since"
            )
    return ""
