"""The files of a killed experiment are whole or torn, wherever the kill tore them."""

import json

import pytest
from ray.cloudpickle import dumps

from tests.integrations.ray.restorable import is_restorable

STATE = json.dumps({"trial_data": [[json.dumps({"trial_id": "a"}), "{}"]]}).encode()
SEARCHER = dumps({"observed": [(0.25, 1.0)], "of_trial": lambda: "a"})
GENERATOR = dumps({"counter": 3, "search_alg": None})
WHOLE = {"experiment_state-1.json": STATE, "searcher-state-1.pkl": SEARCHER, "search_gen_state-1.json": GENERATOR}


@pytest.fixture
def experiment(tmp_path):
    (tmp_path / "run").mkdir()
    for name, content in WHOLE.items():
        (tmp_path / "run" / name).write_bytes(content)
    return tmp_path


def test_whole_files(experiment):
    assert is_restorable(experiment)


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_torn_at_any_byte(experiment, name):
    for length in range(len(WHOLE[name])):
        (experiment / "run" / name).write_bytes(WHOLE[name][:length])
        assert not is_restorable(experiment), length


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_is_not_there(experiment, name):
    (experiment / "run" / name).unlink()
    assert not is_restorable(experiment)
