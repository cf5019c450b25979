"""Writes that may fail: a storage that refuses one must not end a search that is going well."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial

from regretstop import Certificate, Rule
from regretstop_optuna import _attributes as attributes
from regretstop_optuna._history import joined, row_of
from regretstop_optuna._logging import logger
from regretstop_optuna._memory import Memory
from regretstop_optuna._storage import publish, user_attributes


def store_certificate(study: Study, memory: Memory, trial: int, certificate: Certificate, rule: Rule) -> None:
    """Keep what the rule says after the trial; nothing is written where it says what it said before."""
    with memory.lock:
        stored = user_attributes(study)
        _store_latest(study, memory, stored, attributes.latest_entry(trial, certificate, rule), certificate.asker)
        _store_row(study, memory, stored, trial, certificate)


def store_decision(study: Study, memory: Memory, trial: int, certificate: Certificate, rule: Rule) -> None:
    """Make the certificate the study's decision: every process that asks sees it."""
    with memory.lock:
        memory.unsaved[certificate.asker] = attributes.decision_entry(trial, certificate, rule)
        _store_unsaved(study, memory)


def attributes_of(study: Study, memory: Memory) -> Mapping[str, Any]:
    """Return the study's user attributes, with the decisions of this process that could not be stored."""
    with memory.lock:
        _store_unsaved(study, memory)
        return user_attributes(study) | {attributes.decision_key(rule): value for rule, value in memory.unsaved.items()}


def try_to_publish(study: Study, memory: Memory, trial: FrozenTrial, key: str, value: Any) -> None:
    """Write a system attribute of a running trial."""
    _attempt(memory, lambda: publish(study, trial, key, value))


def _store_latest(
    study: Study, memory: Memory, stored: attributes.Attributes, entry: dict[str, Any], rule: str
) -> None:
    entries = dict(stored.get(attributes.LATEST, {}))
    known = entries.get(rule)
    if known is not None:
        if known["certificate"] == entry["certificate"]:
            return
        # A thread that was overtaken knows less than what is stored.
        if _n_seen(known) > _n_seen(entry):
            return
    entries[rule] = entry
    _attempt(memory, lambda: study.set_user_attr(attributes.LATEST, entries))


def _n_seen(entry: Mapping[str, Any]) -> int:
    return int(entry["certificate"]["n_observations"]) + int(entry["certificate"]["n_excluded"])


def _store_row(
    study: Study, memory: Memory, stored: attributes.Attributes, trial: int, certificate: Certificate
) -> None:
    """Add the certificate to the history, together with what was added before and is lost."""
    rule = certificate.asker
    own, there = memory.rows.get(rule, []), attributes.stored_rows(stored, rule)
    row = row_of(certificate, trial)
    is_new = not any(replace(row, trial=known.trial) == known for known in (*own[-1:], *there[-1:]))
    if not is_new and set(own) <= set(there):
        return
    memory.rows[rule] = own = joined(own, [row] if is_new else [])
    both = joined(there, own)
    if both != there:
        value = attributes.with_rows(stored, rule, both)
        _attempt(memory, lambda: study.set_user_attr(attributes.HISTORY, value))


def _store_unsaved(study: Study, memory: Memory) -> None:
    for rule, value in list(memory.unsaved.items()):
        key = attributes.decision_key(rule)
        if _attempt(memory, lambda key=key, value=value: study.set_user_attr(key, value)):
            del memory.unsaved[rule]


def _attempt(memory: Memory, write: Callable[[], None]) -> bool:
    """Return whether the write succeeded. If not, a warning says so once; what was to be written is tried again."""
    try:
        write()
    except Exception as error:  # each storage raises errors of its own
        if not memory.has_warned:
            memory.has_warned = True
            logger.warning(
                f"The storage refused what was to be kept of a regret bound ({type(error).__name__}: {error}). The "
                "study runs on, and it is tried again after the next trial."
            )
        return False
    return True
