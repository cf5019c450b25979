# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray is only partly typed.
"""A warning where trials end and none has a value: such a search would go on for ever, and nobody would know why."""

import math
import weakref
from collections.abc import Mapping
from typing import Any

from ray.tune.result import AUTO_RESULT_KEYS, DEBUG_METRICS
from ray.tune.utils import flatten_dict

from regretstop_ray._log import TrialLog
from regretstop_ray._logging import logger
from regretstop_ray._objective import number, value_in

# A value that is none may be an accident; as many as these are none.
_FEW = 3
_WARNED: "weakref.WeakSet[TrialLog]" = weakref.WeakSet()


def warn_without_values(log: TrialLog, trial_id: str, result: Mapping[str, Any]) -> None:
    """Warn, once for a log, that the trials that have ended have no values.

    Args:
        log: What is known of the trials, this one among them.
        trial_id: Of a trial that has ended without an error.
        result: Its last one.
    """
    if log in _WARNED or any(record.state == "completed" for record in log.trials.values()):
        return
    value = value_in(result, log.metric)
    if value is None:
        tunes = {*AUTO_RESULT_KEYS, *DEBUG_METRICS, "done", "should_checkpoint", "experiment_tag"}
        own = {name: each for name, each in result.items() if name not in tunes and not name.startswith("__")}
        lacks = f"has no metric {log.metric!r}, but {', '.join(map(repr, flatten_dict(own))) or 'none'}"
    elif log.n_ended >= _FEW and not math.isfinite(number(value)):
        lacks = f"has {value!r} as {log.metric!r}, which is no finite number, and none of {log.n_ended} trials has one"
    else:
        return
    _WARNED.add(log)
    logger.warning(f"The last result of trial {trial_id} {lacks}.")
