"""What users of scikit-optimize have complained of, and what they get here; the numbers are its issues."""

import gc
import itertools
import math
import weakref

import numpy as np
import pytest
from regretstop_skopt import RegretBoundStopper
from regretstop_skopt._result import parameters_of
from sklearn.linear_model import Ridge
from skopt import BayesSearchCV, Optimizer, Space, forest_minimize, gp_minimize, load
from skopt.callbacks import CheckpointSaver
from skopt.space import Real

from regretstop import Float, Int, OptimalityGap
from tests.integrations.skopt.objectives import REPEATED, bowl, parabola, random_points, sampler, table, told

pytestmark = pytest.mark.filterwarnings(REPEATED)
LINE = [(-5.0, 5.0)]
PLANE = [(-5.0, 5.0), (-5.0, 5.0)]


def gap(epsilon: float = 0.1) -> RegretBoundStopper:
    return RegretBoundStopper(rule=OptimalityGap(epsilon=epsilon, beta="grid"))


def ridge_search(**options) -> tuple[BayesSearchCV, np.ndarray, np.ndarray]:
    inputs = np.random.default_rng(0).normal(size=(30, 3))
    search = BayesSearchCV(
        Ridge(), {"alpha": Real(1e-3, 1e3, "log-uniform")}, cv=3, random_state=0, n_iter=12, **options
    )
    return search, inputs, inputs @ [1.0, 2.0, 3.0]


def test_a_callback_of_bayes_search_needs_nothing_that_exists_only_after_the_fit():
    """1092: `best_score_` is not there yet, and the callback fails."""
    search, inputs, targets = ridge_search()
    stopper = RegretBoundStopper(1e-9)
    scores: list[float] = []

    def watch(result) -> None:
        assert not hasattr(search, "best_score_")
        scores.append(stopper.observations[-1].value)

    search.fit(inputs, targets, callback=[stopper, watch])
    assert list(-search.cv_results_["mean_test_score"]) == scores


def test_a_stopper_ends_bayes_search():
    """736: the search runs on after the stopper's limit. It ends with the batch in which the bound falls."""
    search, inputs, targets = ridge_search(n_points=2)
    # R² differs by less: enough as soon as anything can be said
    stopper = RegretBoundStopper(rule=OptimalityGap(10.0, beta="grid"))
    search.fit(inputs, targets, callback=stopper)
    n = len(search.cv_results_["params"])
    assert n == 2 * len(stopper.certificates) < 12
    assert [c.stop for c in stopper.certificates] == [False] * (len(stopper.certificates) - 1) + [True]


def test_an_objective_may_return_nan_and_infinity():
    """482: a simulation that fails for some inputs. The bound is about the others."""
    stopper = gap(1e-9)
    points = random_points(PLANE, 30)
    values = [math.nan if x[0] < -2 else math.inf if x[1] > 4 else bowl(x) for x in points]
    stopper(told(PLANE, points, values))
    assert stopper.certificate.n_observations == sum(map(math.isfinite, values)) < 30
    assert math.isfinite(stopper.certificate.bound)


@pytest.mark.parametrize("spread", [0.0, 1e-17, 1e-300])
def test_values_that_do_not_differ_do_not_become_infinite(spread):
    """910: "array must not contain infs or NaNs", of an objective that returns none."""
    stopper = gap()
    points = random_points(LINE, 12)
    assert stopper(told(LINE, points, [0.5 + spread * k for k in range(12)])) is False
    assert math.isinf(stopper.certificate.bound)
    assert "equal" in stopper.certificate.reason


def test_a_small_space_is_left_when_it_is_known():
    """618: the same points are asked for again and again."""
    stopper = gap()
    result = gp_minimize(table, [(0, 5)], n_calls=60, n_initial_points=6, random_state=0, callback=stopper)
    assert len(result.x_iters) < 60
    assert result.fun == 0.0
    assert stopper.certificate.maximum == "enumerated"


def test_points_given_with_their_values_are_not_evaluated_again():
    """949: to resume costs as many evaluations as to begin."""
    points = [[k] for k in range(6)] * 2
    calls: list[list] = []
    stopper = gap()
    gp_minimize(calls.append, [(0, 5)], n_calls=10, x0=points, y0=list(map(table, points)), callback=stopper)
    assert calls == []
    assert stopper.certificate.n_observations == 12


def test_a_loaded_checkpoint_is_the_history(tmp_path):
    """997: after loading, the search behaves as if it knew nothing. What was evaluated before counts in full."""
    saver = CheckpointSaver(tmp_path / "checkpoint.pkl")
    options = {"n_initial_points": 3, "random_state": 0}
    forest_minimize(parabola, LINE, n_calls=8, callback=saver, **options)
    stopper = gap(1e-9)
    loaded = load(tmp_path / "checkpoint.pkl")
    more = forest_minimize(
        parabola, LINE, n_calls=3, x0=loaded.x_iters, y0=loaded.func_vals, callback=[stopper, saver], **options
    )
    assert [c.n_observations for c in stopper.certificates] == [8, 9, 10, 11]
    assert load(tmp_path / "checkpoint.pkl").x_iters == more.x_iters


def test_points_close_together_give_a_positive_definite_matrix(caplog):
    """324: "leading minor not positive definite", once the search has converged."""
    points = [[1.0 + 1e-9 * k, 1.0 - 1e-9 * k] for k in range(25)] + random_points(PLANE, 10)
    stopper = gap(1e-9)
    stopper(told(PLANE, points, list(map(bowl, points))))
    assert math.isfinite(stopper.certificate.bound)
    assert not caplog.records


def test_a_repeated_point_gives_no_nan_gradient(caplog):
    """266: the gradient of the kernel at distance zero."""
    points = [[0.7, 1.0]] * 50 + random_points(PLANE, 10)
    stopper = gap(1e-9)
    stopper(told(PLANE, points, list(map(bowl, points))))
    assert math.isfinite(stopper.certificate.bound)
    assert not caplog.records


def test_noise_is_not_taken_for_a_flat_objective():
    """484: the likelihood has two modes, one of which explains everything as noise."""
    points = random_points(PLANE, 15)
    values = np.random.default_rng(0).normal(size=15)
    stopper = gap(0.5)
    assert stopper(told(PLANE, points, values.tolist())) is False


def test_a_grid_that_seems_converged_is_left_when_its_bound_says_so():
    """748: on a grid of 100 points, is the search done, or will it go on elsewhere?"""
    grid = Space([(0, 1), (0, 4), (0, 1), (0, 4)])
    points = [list(x) for x in itertools.product(range(2), range(5), range(2), range(5))]

    def f(x) -> float:
        return 3.0 * x[0] + (x[1] - 2) ** 2 + 2.0 * x[2] + (x[3] - 3) ** 2

    order = np.random.default_rng(0).permutation(100)
    optimizer, stopper = sampler(grid), gap(1.0)
    for k in order:
        if stopper(optimizer.tell(points[k], f(points[k]))):
            break
    assert stopper.certificate.n_observations < 100
    assert stopper.certificate.maximum == "enumerated"
    assert stopper.certificate.incumbent_value <= 1.0  # the least value is 0, and ε is 1


def test_values_far_from_zero_are_modelled_in_their_own_units():
    """656: values between 11,000 and 21,000, predictions between 13,400 and 14,200."""
    points = random_points(PLANE, 25)
    values = [bowl(x) for x in points]
    plain, far = gap(1.0), gap(300.0)
    plain(told(PLANE, points, values))
    far(told(PLANE, points, [11_000 + 300 * v for v in values]))
    assert far.certificate.bound == pytest.approx(300 * plain.certificate.bound, rel=1e-3)
    assert far.certificate.incumbent == plain.certificate.incumbent


def test_a_range_given_as_integers_keeps_its_prior_and_mixed_types_are_real():
    """1065: (1, 100, "log-uniform") is an Integer, (1.1, 100, "log-uniform") failed."""
    read = parameters_of(Space([(1, 100, "log-uniform"), (1.1, 100, "log-uniform")]).dimensions)
    assert read == {"x0": Int(1, 100, log=True), "x1": Float(1.1, 100.0, log=True)}


def test_no_model_of_the_search_is_kept_alive():
    """349: memory that grows with each iteration, since every surrogate is kept."""
    optimizer = Optimizer(LINE, base_estimator="ET", n_initial_points=2, model_queue_size=1, random_state=0)
    stopper = gap(1e-9)
    result = None
    for _ in range(4):
        x = optimizer.ask()
        result = optimizer.tell(x, parabola(x))
        stopper(result)
    model = weakref.ref(result.models[-1])
    del optimizer, result
    gc.collect()
    assert model() is None
    assert stopper.certificate.n_observations == 4
