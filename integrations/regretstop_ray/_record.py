"""The file in the experiment's directory that says what was decided, for people and for other processes."""

import json
import os
import uuid
from pathlib import Path
from typing import Any

from regretstop.spaces import to_python
from regretstop_ray._log import TrialLog

RECORD = "regret_bound.json"
_VERSION = 1


def record_of(log: TrialLog) -> dict[str, Any]:
    """Return the trials and every certificate.

    Returns:
        "trials" with number, trial_id, config, state, ended_as and value (None if it is no observation);
        "certificates" with the rule, the number of trials that had ended, and the certificate, oldest first.
    """
    values = {o.number: o.value for o in log.observations()}
    trials = [
        {
            "number": record.number,
            "trial_id": trial_id,
            "config": record.config,
            "state": record.state,
            "ended_as": record.ended_as,
            "value": values.get(record.number) if record.state == "completed" else None,
        }
        for trial_id, record in log.trials.items()
    ]
    certificates = [
        {"rule": rule, "n_ended": n, "certificate": certificate}
        for (rule, n), certificate in sorted(log.certificates.items(), key=lambda item: item[0][1])
    ]
    return {
        "version": _VERSION,
        "metric": log.metric,
        "mode": log.mode,
        "trials": trials,
        "certificates": certificates,
    }


def write_record(log: TrialLog, directory: str) -> None:
    """Write the record in one piece: a reader never sees half of it."""
    path = Path(directory, RECORD)
    draft = path.with_name(f".{uuid.uuid4().hex}-{RECORD}")
    draft.write_text(json.dumps(record_of(log), indent=1, default=_said), encoding="utf-8")
    os.replace(draft, path)


def _said(value: Any) -> Any:
    """Return what JSON can say of a value of a configuration: NumPy's as Python's, other objects in words."""
    known = to_python(value)
    return repr(value) if known is value else known
