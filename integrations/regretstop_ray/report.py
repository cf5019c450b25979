# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray and pyarrow are only partly typed.
"""What was decided about an experiment, from the objects that ran it or from its directory."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyarrow.fs import FileSystem, FileType
from ray.tune import ResultGrid

from regretstop import Rule
from regretstop.plotting import BoundHistory, draw_plotly
from regretstop.rules import resolve_rule
from regretstop_ray._assess import certify
from regretstop_ray._certificate import TrialCertificate
from regretstop_ray._record import RECORD, record_of
from regretstop_ray.search import GPUCBSearch
from regretstop_ray.stopper import RegretBoundStopper

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # pyright: ignore[reportMissingTypeStubs]

Source = RegretBoundStopper | GPUCBSearch | ResultGrid | str | Path


def certificate_of(source: Source, rule: Rule | None = None) -> TrialCertificate | None:
    """Return the certificate that stopped an experiment, or else the latest; None if there is none.

    It names the certified trial and its configuration, which `ResultGrid.get_best_result` cannot be trusted with after
    a stop: a trial that was cut short may show a better value than it would have ended with.

    Args:
        source: The stopper, the searcher, what `Tuner.fit()` returned, or the experiment's directory, which may be
            on any storage that Tune can use.
        rule: A stopping rule, for what it says of the ended trials; nothing is kept of that. It needs a source that
            has the model: the stopper, or the searcher, which `restore_from_dir` brings back. None for what is stored.

    Raises:
        ValueError: If there is no model for the rule, or it is no rule.
    """
    if rule is not None:
        if not isinstance(source, RegretBoundStopper | GPUCBSearch):
            raise ValueError(f"a rule needs the stopper or the searcher, which have the model, got source={source!r}")
        return certify(source.log, resolve_rule(None, None, rule))[0]
    certificates = [stored["certificate"] for stored in _record(source)["certificates"]]
    chosen = [c for c in certificates if c["stop"]] or certificates
    return TrialCertificate.from_dict(chosen[-1]) if chosen else None


def plot_regret_bound(source: Source) -> "Figure":
    """Draw the stored regret bounds against ε over the trials, in the order in which they ended, with plotly.

    Args:
        source: As for `certificate_of`.

    Raises:
        ValueError: If there are no bounds.
    """
    return draw_plotly(bound_history(source))


def bound_history(source: Source) -> BoundHistory:
    """Return what both backends draw: of several rules, the one that was last.

    Trials are counted from 0 in the order in which they ended: where they run one by one, by their numbers.

    Raises:
        ValueError: If there are no bounds.
    """
    record = _record(source)
    if not record["certificates"]:
        raise ValueError(f"{source!r} holds no regret bounds: run the experiment with a RegretBoundStopper")
    rule = record["certificates"][-1]["rule"]
    found = {
        stored["n_ended"]: TrialCertificate.from_dict(stored["certificate"])
        for stored in record["certificates"]
        if stored["rule"] == rule
    }
    values = {trial["ended_as"]: trial["value"] for trial in record["trials"]}
    ended = range(1, max(found) + 1)
    last = found[max(found)]
    return BoundHistory(
        trials=[n - 1 for n in ended],
        bounds=[found[n].shown.bound if n in found else math.nan for n in ended],
        gaps=[found[n].shown.optimality_gap if n in found else math.nan for n in ended],
        values=[math.nan if values.get(n) is None else values[n] for n in ended],
        epsilon=last.shown.epsilon,
        rule=last.shown.rule,
        stopped_at=max(found) - 1 if last.stop else None,
        direction="maximize" if record["mode"] == "max" else "minimize",
    )


def _record(source: Source) -> dict[str, Any]:
    if isinstance(source, RegretBoundStopper | GPUCBSearch):
        return record_of(source.log)
    if isinstance(source, ResultGrid):
        filesystem, directory = source.filesystem, source.experiment_path
    else:
        where = str(source) if "://" in str(source) else str(Path(source).expanduser().resolve())
        filesystem, directory = FileSystem.from_uri(where)
    path = f"{directory.rstrip('/')}/{RECORD}"
    if filesystem.get_file_info(path).type == FileType.NotFound:
        return {"certificates": [], "trials": [], "mode": None}
    with filesystem.open_input_stream(path) as file:
        return json.loads(file.readall())
