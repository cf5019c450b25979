"""Whether Tune itself can restore an experiment: another thread of it writes its files in place."""

import json
import pickle  # reads what Ray's cloudpickle wrote, and has the error for what is torn
from itertools import chain
from pathlib import Path


def is_restorable(directory: Path) -> bool:
    """Return whether the files of the experiment below `directory` are there and whole at the moment."""
    states = sorted(directory.glob("*/experiment_state-*.json"))
    # That of the generator of trials is a pickle in spite of its name; without it Tune starts over.
    searchers = [sorted(directory.glob(f"*/{name}")) for name in ("searcher-state-*.pkl", "search_gen_state-*.json")]
    if not states or not all(searchers):
        return False
    try:
        for state in states:
            for of_trial in json.loads(state.read_text())["trial_data"]:
                json.loads(of_trial[0])
        for searcher in chain(*searchers):
            pickle.loads(searcher.read_bytes())
    except (ValueError, EOFError, pickle.UnpicklingError):
        return False
    return True
