"""What the package writes into a study, under which names, and how it is read back.

    study user attribute    regretstop:certificate:<rule>:<trial>    every certificate
    study user attribute    regretstop:decision:<rule>               the certificate that stopped
    trial system attribute  regretstop:proposal                      a point being evaluated

One key per trial and rule: concurrent processes write different keys, so none loses an entry.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from regretstop import Certificate, Rule
from regretstop_optuna._storage import publish, user_attributes

_CERTIFICATE = "regretstop:certificate:"
_DECISION = "regretstop:decision:"
_PROPOSAL = "regretstop:proposal"


@dataclasses.dataclass(frozen=True)
class StoredCertificate:
    """A certificate together with the trial after which it was computed."""

    trial: int
    certificate: Certificate


def settings_of(rule: Rule) -> dict[str, str]:
    """Return what distinguishes the rule from others of its class, apart from ε and δ."""
    names = [f.name for f in dataclasses.fields(rule) if f.name not in ("epsilon", "delta")]
    return {name: repr(getattr(rule, name)) for name in names}


def store_certificate(study: Study, trial: int, certificate: Certificate) -> None:
    """Keep the certificate that was computed after the trial."""
    study.set_user_attr(f"{_CERTIFICATE}{certificate.rule}:{trial}", certificate.to_dict())


def store_decision(study: Study, trial: int, certificate: Certificate, rule: Rule) -> None:
    """Make the certificate the study's decision: every process that asks sees it."""
    value = {"trial": trial, "settings": settings_of(rule), "certificate": certificate.to_dict()}
    study.set_user_attr(f"{_DECISION}{certificate.rule}", value)


def stored_certificates(study: Study, rule: str = "") -> list[StoredCertificate]:
    """Return the stored certificates of the rule with this name, or of all, in order of trial."""
    prefix = f"{_CERTIFICATE}{rule}:" if rule else _CERTIFICATE
    found: list[StoredCertificate] = []
    for key, value in user_attributes(study).items():
        if key.startswith(prefix):
            certificate = _read(value)
            if certificate is not None:
                found.append(StoredCertificate(int(key.rpartition(":")[2]), certificate))
    return sorted(found, key=lambda stored: stored.trial)


def latest_epsilon(study: Study) -> float | None:
    """Return the smallest ε of the certificates of the last trial that has any; None if none bounds a regret.

    It is in the study, so that a resumed search goes on as it would have, and so do other processes.
    """
    found = [
        (-int(key.rpartition(":")[2]), float(value["epsilon"]))
        for key, value in user_attributes(study).items()
        if key.startswith(_CERTIFICATE) and value.get("measure") == "regret"
    ]
    return min(found)[1] if found else None


def stored_decisions(study: Study, rule: Rule | None = None) -> list[StoredCertificate]:
    """Return the decisions in order of trial: all of them, or those that satisfy `rule` now.

    A decision satisfies a rule if it was made by the same rule with the same settings, its bound is
    below the rule's ε, and it risked no more than the rule's δ.
    """
    found: list[StoredCertificate] = []
    for key, value in user_attributes(study).items():
        if not key.startswith(_DECISION):
            continue
        certificate = _read(value["certificate"])
        if certificate is None:
            continue
        if rule is None or (
            certificate.rule == type(rule).__name__
            and value["settings"] == settings_of(rule)
            and certificate.bound < rule.epsilon
            and certificate.delta <= rule.delta
        ):
            found.append(StoredCertificate(value["trial"], certificate))
    return sorted(found, key=lambda stored: stored.trial)


def _read(value: Mapping[str, Any]) -> Certificate | None:
    """Return the certificate, or None if another version of the package wrote it."""
    try:
        return Certificate.from_dict(value)
    except ValueError:
        return None


def publish_proposal(
    study: Study,
    trial: FrozenTrial,
    params: Mapping[str, Any],
    distributions: Mapping[str, BaseDistribution],
) -> None:
    """Show the point that the trial is about to evaluate to all other threads and processes.

    Values go in Optuna's internal form, plain numbers: a category need not be JSON.
    """
    internal = {name: float(distributions[name].to_internal_repr(value)) for name, value in params.items()}
    publish(study, trial, _PROPOSAL, internal)


def point_of(trial: FrozenTrial, distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Return what is known of the point that a running trial evaluates.

    A suggested value counts before an enqueued one, and that before the published proposal: Optuna
    prefers them in this order, and a proposal is there before the first value is suggested.
    """
    proposal: Mapping[str, float] = trial.system_attrs.get(_PROPOSAL, {})
    proposed = {
        name: distributions[name].to_external_repr(value) for name, value in proposal.items() if name in distributions
    }
    return proposed | trial.system_attrs.get("fixed_params", {}) | trial.params


def latest(stored: Sequence[StoredCertificate]) -> Certificate | None:
    """Return the last certificate, None if there is none."""
    return stored[-1].certificate if stored else None
