# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# Ray and pyarrow are only partly typed.
"""What was decided about an experiment, from the objects that ran it or from its directory."""

import json
from pathlib import Path
from typing import Any

from pyarrow.fs import FileSystem, FileType
from ray.tune import ResultGrid

from regretstop import Rule
from regretstop.rules import resolve_rule
from regretstop_ray._assess import certify
from regretstop_ray._certificate import TrialCertificate
from regretstop_ray._record import RECORD, record_of
from regretstop_ray.search import GPUCBSearch
from regretstop_ray.stopper import RegretBoundStopper

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
    # Other stoppers of the same search have their own.
    of = repr(source.rule) if isinstance(source, RegretBoundStopper) else None
    found = stored_record(source)["certificates"]
    certificates = [stored["certificate"] for stored in found if of in (None, stored["rule"])]
    chosen = [c for c in certificates if c["stop"]] or certificates
    return TrialCertificate.from_dict(chosen[-1]) if chosen else None


def stored_record(source: Source) -> dict[str, Any]:
    """Return what is stored about an experiment: see `record_of`."""
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
