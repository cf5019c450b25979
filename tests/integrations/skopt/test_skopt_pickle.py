import copy
import logging
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from regretstop_skopt import RegretBoundStopper
from skopt import forest_minimize, gp_minimize, load
from skopt.callbacks import CheckpointSaver

from regretstop import OptimalityGap
from tests.integrations.skopt.objectives import REPEATED, parabola, random_points, table, told

pytestmark = pytest.mark.filterwarnings(REPEATED)
LINE = [(-5.0, 5.0)]


def copies(stopper: RegretBoundStopper) -> list[RegretBoundStopper]:
    return [pickle.loads(pickle.dumps(stopper)), copy.deepcopy(stopper)]


@pytest.mark.parametrize("n", [0, 1, 12])
def test_a_copy_goes_on_where_the_original_is(n):
    points = random_points(LINE, 14)
    values = [parabola(x) for x in points]
    stopper = RegretBoundStopper(rule=OptimalityGap(epsilon=1e-3, beta="grid"))
    if n:
        stopper(told(LINE, points[:n], values[:n]))
    for again in copies(stopper):
        assert again.certificates == stopper.certificates
        again(told(LINE, points, values))
        assert len(again.certificates) == len(stopper.certificates) + 1
        fresh = RegretBoundStopper(rule=OptimalityGap(epsilon=1e-3, beta="grid"))
        fresh(told(LINE, points, values))
        assert again.certificate == fresh.certificate


def test_a_checkpoint_brings_the_stopper_back_and_the_search_on(tmp_path):
    path = tmp_path / "checkpoint.pkl"
    callbacks = [RegretBoundStopper(1e-9), CheckpointSaver(path, compress=9)]
    forest_minimize(parabola, LINE, n_calls=7, n_initial_points=4, random_state=0, callback=callbacks)
    saved = load(path)
    stopper = saved.specs["args"]["callback"][0]
    assert len(stopper.certificates) == 7
    forest_minimize(
        parabola,
        LINE,
        n_calls=3,
        n_initial_points=1,
        random_state=1,
        callback=stopper,
        x0=saved.x_iters,
        y0=saved.func_vals,
    )
    assert [c.n_observations for c in stopper.certificates] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


def test_a_search_that_another_process_finished_costs_this_one_nothing(tmp_path):
    path = tmp_path / "result.pkl"
    program = """
import sys, warnings
warnings.simplefilter("ignore")
from skopt import dump, gp_minimize
from regretstop import OptimalityGap
from regretstop_skopt import RegretBoundStopper
from tests.integrations.skopt.objectives import table
stopper = RegretBoundStopper(rule=OptimalityGap(epsilon=0.1, beta="grid"))
dump(gp_minimize(table, [(0, 5)], n_calls=40, random_state=0, callback=stopper), sys.argv[1])
"""
    subprocess.run([sys.executable, "-c", program, path], check=True, cwd=Path(__file__).parents[3])
    saved = load(path)
    assert len(saved.x_iters) < 40
    calls: list[list] = []
    stopper = RegretBoundStopper(rule=OptimalityGap(epsilon=0.1, beta="grid"))
    gp_minimize(calls.append, [(0, 5)], n_calls=20, x0=saved.x_iters, y0=saved.func_vals, callback=stopper)
    assert calls == []
    assert stopper.certificates == [saved.specs["args"]["callback"].certificate]
    assert stopper.certificate.incumbent_value == min(map(table, saved.x_iters))


def test_importing_it_loads_neither_scikit_optimize_nor_a_plotting_library():
    program = """
import sys
import regretstop_skopt, regretstop_skopt.matplotlib
stopper = regretstop_skopt.RegretBoundStopper(0.1)
print(*(m for m in sys.modules if m.startswith(("skopt", "sklearn", "matplotlib.", "plotly"))))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


def test_the_logger_is_left_as_the_user_set_it():
    assert logging.getLogger("regretstop_skopt").level == logging.NOTSET
    assert not logging.getLogger("regretstop_skopt").handlers
