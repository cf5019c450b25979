"""What the package writes into a study, under which names, and how it is read back.

    study user attribute    regretstop:certificates      the latest certificate of each rule
    study user attribute    regretstop:history           the bounds of each rule, as columns of numbers
    study user attribute    regretstop:decision:<rule>   the certificate that stopped
    trial system attribute  regretstop:proposal          a point being evaluated
    trial system attribute  regretstop:independent       parameters that the storage does not give back as they were
    trial system attribute  regretstop:typed             parameters with choices that come back equal, but of no class
    trial system attribute  terminator:cv_scores         the scores of the folds, where Optuna's terminator has them

However many trials there are, a study has the first two, and one for each rule that stopped it: a decision has a key of
its own, since concurrent processes that write under one key may lose what the other wrote. Under the first two that
does no harm: what is lost there is written again.

Studies of earlier versions have `regretstop:certificate:<rule>:<trial>` instead of the first two, for each trial. They
are read, and no longer written.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial

from regretstop import Certificate, Every, Rule, Thinning
from regretstop.statement import Statement
from regretstop_optuna._history import Row, from_columns, to_columns
from regretstop_optuna._settings import words_for

LATEST = "regretstop:certificates"
HISTORY = "regretstop:history"
PROPOSAL = "regretstop:proposal"
INDEPENDENT = "regretstop:independent"
TYPED = "regretstop:typed"
SCORES = "terminator:cv_scores"
_DECISION = "regretstop:decision:"
# In a proposal, beside the parameters: when it was made, in seconds since 1970. Optuna 4 keeps the local times of the
# host on which a trial runs, without their zone.
_PROPOSED_AT = "regretstop:proposed_at"
_CERTIFICATE = "regretstop:certificate:"

Attributes = Mapping[str, Any]
"""The user attributes of a study."""


@dataclasses.dataclass(frozen=True)
class StoredCertificate:
    """A certificate together with the trial after which it was computed."""

    trial: int
    certificate: Certificate

    @property
    def age(self) -> tuple[int, int]:
        """Grows with what the certificate has seen, and then with the trial."""
        return self.certificate.n_observations + self.certificate.n_excluded, self.trial


# ---- The latest certificates ---------------------------------------------------------------------------------------


def latest_entry(trial: int, certificate: Certificate, rule: Rule) -> dict[str, Any]:
    """Return what is stored of a rule's latest certificate.

    `until` is when the rule has another one at the latest, `epsilon` that of its bounds on a regret.
    """
    due = [leaf.schedule.due(certificate.n_observations, 1).following for leaf in rule.leaves]
    # Of a standard error it is what was found.
    epsilons = [
        said.epsilon
        for leaf, said in zip(rule.leaves, certificate.said, strict=True)
        if leaf.bounds_regret and said.epsilon > 0.0
    ]
    until = max(certificate.n_observations + 1 if following is None else following for following in due)
    return {
        "trial": trial,
        "until": until,
        "epsilon": min(epsilons, default=None),
        "certificate": certificate.to_dict(),
    }


def latest_certificates(attributes: Attributes) -> dict[str, StoredCertificate]:
    """Return the latest certificate of each rule, by the rule's name."""
    values = {rule: (trial, value) for rule, trial, value in sorted(_earlier(attributes), key=lambda each: each[1])}
    values |= {rule: (entry["trial"], entry["certificate"]) for rule, entry in attributes.get(LATEST, {}).items()}
    read = {rule: (trial, _read(value)) for rule, (trial, value) in values.items()}
    return {rule: StoredCertificate(trial, c) for rule, (trial, c) in read.items() if c is not None}


def latest_certificate(attributes: Attributes) -> StoredCertificate | None:
    """Return the latest certificate of any rule; None if there is none."""
    found = list(latest_certificates(attributes).values())
    return max(reversed(found), key=lambda stored: stored.age) if found else None


def latest_epsilon(attributes: Attributes) -> float | None:
    """Return the smallest ε of the rules that are being asked; None if none of them bounds a regret.

    It is in the study, so that a resumed search goes on as it would have, and so do other processes. A rule is being
    asked if its certificate was not overdue when the latest of all was computed.
    """
    entries: list[Mapping[str, Any]] = list(attributes.get(LATEST, {}).values())
    if not entries:
        earlier = list(_earlier(attributes))
        last = max((trial for _, trial, _ in earlier), default=0)
        entries = [{"certificate": value} for _, trial, value in earlier if trial == last]
    now = max((int(entry["certificate"]["n_observations"]) for entry in entries), default=0)
    found = [_regret_epsilon(entry) for entry in entries if int(entry.get("until", now)) >= now]
    return min((epsilon for epsilon in found if epsilon is not None), default=None)


def _regret_epsilon(entry: Mapping[str, Any]) -> float | None:
    if "epsilon" not in entry:  # of an earlier version
        certificate = entry["certificate"]
        return float(certificate["epsilon"]) if certificate.get("measure") == "regret" else None
    return None if entry["epsilon"] is None else float(entry["epsilon"])


# ---- The history ---------------------------------------------------------------------------------------------------


def stored_rows(attributes: Attributes, rule: str) -> list[Row]:
    """Return the rows of the rule's history, in order."""
    columns = attributes.get(HISTORY, {}).get(rule)
    return [] if columns is None else from_columns(columns)


def with_rows(attributes: Attributes, rule: str, rows: Iterable[Row]) -> dict[str, Any]:
    """Return the value of the history's attribute in which the rule has these rows, and others have theirs."""
    return {**attributes.get(HISTORY, {}), rule: to_columns(rows)}


class Bounds(NamedTuple):
    """What was known after a trial: the bound, the certified gap, and the probability left, NaN if not estimated."""

    bound: float
    gap: float
    left: float


def bounds_after(attributes: Attributes, rule: str) -> dict[int, Bounds]:
    """Return what was known after a trial, by its number, in order.

    Those of the latest certificate and of decisions are exact, the others have four digits.
    """
    exact: list[StoredCertificate] = []
    for name, trial, value in _earlier(attributes):
        certificate = _read(value) if name == rule else None
        if certificate is not None:
            exact.append(StoredCertificate(trial, certificate))
    exact += [stored for name, stored in latest_certificates(attributes).items() if name == rule]
    exact += [stored for stored in stored_decisions(attributes) if stored.certificate.asker == rule]
    found = {row.trial: Bounds(row.bound, row.gap, _known(row.left)) for row in stored_rows(attributes, rule)}
    for stored in exact:
        shown = stored.certificate.shown
        probability = _known(None if shown.left is None else shown.left.probability)
        found[stored.trial] = Bounds(shown.bound, shown.optimality_gap, probability)
    return dict(sorted(found.items()))


def _known(probability: float | None) -> float:
    return math.nan if probability is None else probability


def _earlier(attributes: Attributes) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Yield rule, trial and certificate of what earlier versions stored."""
    for key, value in attributes.items():
        if key.startswith(_CERTIFICATE):
            rule, _, trial = key.removeprefix(_CERTIFICATE).rpartition(":")
            yield rule, int(trial), value


# ---- Decisions -----------------------------------------------------------------------------------------------------


def decision_key(rule: str) -> str:
    """Return the name of the attribute that holds the rule's decision."""
    return f"{_DECISION}{rule}"


def decision_entry(trial: int, certificate: Certificate, rule: Rule) -> dict[str, Any]:
    """Return what is stored of a decision: the settings are those of the rule, or of each rule of a combination."""
    settings = [_settings_of(leaf) for leaf in rule.leaves]
    one = settings[0] if certificate.asked.combination is None else settings
    return {"trial": trial, "settings": one, "certificate": certificate.to_dict()}


Stands = Callable[[int, Statement, Rule | None], bool]
"""Whether what a rule said after a trial still holds, given the rule where it is known."""


def stored_decisions(
    attributes: Attributes, rule: Rule | None = None, stands: Stands | None = None
) -> list[StoredCertificate]:
    """Return the decisions that stand in order of trial: all of them, or those that satisfy `rule` now.

    A decision satisfies a rule if it was made by the same rule with the same settings, its bound is
    below the rule's ε, and it risked no more than the rule's δ. Of a combination each rule counts by itself, in the
    decision as in what is asked.
    """
    found: list[StoredCertificate] = []
    for key, value in attributes.items():
        if not key.startswith(_DECISION):
            continue
        certificate = _read(value["certificate"])
        if certificate is None:
            continue
        stored = StoredCertificate(value["trial"], certificate)
        if rule is None:
            stopping = [said for said in certificate.said if said.stop]
            is_standing = stands is None or all(stands(stored.trial, said, None) for said in stopping)
        else:
            is_standing = rule.is_decided(partial(_is_satisfied, stored, value["settings"], stands))
        if is_standing:
            found.append(stored)
    return sorted(found, key=lambda stored: stored.trial)


def _is_satisfied(stored: StoredCertificate, settings: Any, stands: Stands | None, rule: Rule) -> bool:
    """Return whether what the decision's rules said satisfies a single rule."""
    made_by: list[Mapping[str, str]] = [settings] if isinstance(settings, Mapping) else settings
    return any(
        said.rule == rule.label
        and _have_same_settings(own, rule)
        and rule.is_met_by(said)
        and (stands is None or stands(stored.trial, said, rule))
        for own, said in zip(made_by, stored.certificate.said, strict=True)
    )


def _settings_of(rule: Rule) -> dict[str, str]:
    """Return what distinguishes the rule from others of its class, apart from ε and δ."""
    names = [f.name for f in dataclasses.fields(rule) if f.name not in ("epsilon", "delta")]
    return {name: words_for(getattr(rule, name)) for name in names}


def _have_same_settings(stored: Mapping[str, str], rule: Rule) -> bool:
    settings, made_by = _settings_of(rule), dict(stored)
    # Decisions of earlier versions were made by what was the default then: after every observation, and all tests
    # shared δ, up to a horizon if there was one.
    if rule.schedule == Thinning() and made_by.get("schedule") == repr(Every()):
        made_by["schedule"] = settings["schedule"]
    if made_by.pop("horizon", None) is not None and "simultaneous" in settings:
        made_by["simultaneous"] = repr(True)
    if "beta" in settings and made_by.get("beta") in (None, repr(None)):  # when there was nothing else
        made_by["beta"] = repr("grid")
    # That all certificates are true at once is more than that the search ends by a true one.
    if made_by.get("simultaneous") == repr(True):
        made_by["simultaneous"] = settings["simultaneous"]
    return settings == made_by


def _read(value: Mapping[str, Any]) -> Certificate | None:
    """Return the certificate, or None if another version of the package wrote it."""
    try:
        return Certificate.from_dict(value)
    except ValueError:
        return None


# ---- Trials --------------------------------------------------------------------------------------------------------


def proposal_of(params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> dict[str, float]:
    """Return what is published of a point that a trial is about to evaluate.

    Values go in Optuna's internal form, plain numbers: a category need not be JSON.
    """
    numbers = {name: float(distributions[name].to_internal_repr(value)) for name, value in params.items()}
    return numbers | {_PROPOSED_AT: time.time()}


def proposed_at(trial: FrozenTrial) -> float | None:
    """Return when the trial's point was proposed, in seconds since 1970; None where that is not known."""
    found = trial.system_attrs.get(PROPOSAL, {}).get(_PROPOSED_AT)
    return None if found is None else float(found)


def point_of(trial: FrozenTrial, distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Return what is known of the point that a running trial evaluates.

    A suggested value counts before an enqueued one, and that before the published proposal: Optuna
    prefers them in this order, and a proposal is there before the first value is suggested.
    """
    proposal: Mapping[str, float] = trial.system_attrs.get(PROPOSAL, {})
    proposed = {
        name: distributions[name].to_external_repr(value) for name, value in proposal.items() if name in distributions
    }
    return proposed | trial.system_attrs.get("fixed_params", {}) | trial.params


def names_in(trial: FrozenTrial, key: str) -> set[str]:
    """Return the parameters that a trial names in an attribute of these."""
    return set(trial.system_attrs.get(key, ()))
