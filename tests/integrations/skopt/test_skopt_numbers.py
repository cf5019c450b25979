"""Numbers of any type, far from zero and close together, as scikit-optimize holds them."""

import math

import numpy as np
import pytest
from regretstop_skopt import RegretBoundStopper
from skopt import Space, forest_minimize, gp_minimize
from skopt.callbacks import DeltaYStopper, HollowIterationsStopper, ThresholdStopper, TimerCallback
from skopt.space import Integer, Real

from regretstop import OptimalityGap
from tests.integrations.skopt.objectives import REPEATED, bowl, parabola, random_points, told

pytestmark = pytest.mark.filterwarnings(REPEATED)
PLANE = [(-5.0, 5.0), (-5.0, 5.0)]
MIXED = [Real(1e-4, 0.1, "log-uniform"), Integer(1, 9), [True, False], ["a", "b"]]

# Of 0.1 in single precision, which is larger than 0.1, NumPy 2 says that it is not; scikit-optimize then takes it.
SINGLE = pytest.param(
    np.float32,
    marks=pytest.mark.skipif(
        np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="scikit-optimize refuses such points with NumPy 1"
    ),
)


def gap(epsilon: float = 0.1) -> RegretBoundStopper:
    return RegretBoundStopper(rule=OptimalityGap(epsilon=epsilon, beta="grid"))


def mixed(x) -> float:
    return math.log10(x[0]) ** 2 + 0.1 * x[1] + x[2] + (x[3] == "a")


@pytest.mark.parametrize("real", [np.float64, SINGLE])
@pytest.mark.parametrize("value", [float, np.float64, np.float32, np.int64])
def test_points_and_values_given_in_numpy_are_those_in_python(real, value):
    """A row of a table, and what a metric returned; `x0` and `y0` come to the stopper as they are."""
    points = [[[1e-4, 1e-3, 0.1, 0.02][k % 4], 1 + k % 9, k % 2 == 0, "ab"[k % 3 // 2]] for k in range(14)]
    values = [float(round(4 * mixed(x))) for x in points]  # the same in every type
    rows = [[real(a), np.int64(b), np.bool_(c), np.str_(d)] for a, b, c, d in points]
    stoppers = [gap(1e-9), gap(1e-9)]
    stoppers[0](told(MIXED, points, values))
    stoppers[1](told(MIXED, rows, [value(v) for v in values]))
    certificates = [stopper.certificate for stopper in stoppers]
    assert certificates[0] == certificates[1]
    assert (certificates[1].n_observations, certificates[1].n_excluded) == (14, 0)
    assert math.isfinite(certificates[1].bound)


@pytest.mark.parametrize("minimizer", [gp_minimize, forest_minimize])
def test_given_points_in_numpy_reach_the_stopper_of_a_real_search(minimizer):
    given = [[np.float64(1e-3), np.int64(3), np.bool_(True), np.str_("a")], [0.02, np.int32(9), False, "b"]]
    stopper = gap(1e-9)
    options = {"x0": given, "y0": np.array([2.5, 1.5], dtype=np.float32), "n_calls": 3, "n_initial_points": 3}
    minimizer(mixed, MIXED, random_state=0, callback=stopper, **options)
    assert [o.value for o in stopper.observations[:2]] == [2.5, 1.5]
    assert (stopper.certificate.n_observations, stopper.certificate.n_excluded) == (5, 0)


@pytest.mark.parametrize("dtype", [SINGLE, np.float16])
def test_a_dimension_in_another_precision_has_its_bounds_inside(dtype):
    """In single precision 0.1 is larger than 0.1: points at the bounds are data like any other."""
    dimensions = [Real(1e-4, 0.1, "log-uniform", dtype=dtype), Real(0, 0.1, dtype=dtype)]
    points = [[dtype(a), dtype(b)] for a in (1e-4, 0.003, 0.1) for b in (0.0, 0.03, 0.1)]
    values = [3.0 + a + b for a in range(3) for b in range(3)]
    values[8] = 0.0  # the best is where both are at their upper bounds
    stopper = gap(1e-9)
    stopper(told(dimensions, points, values))
    assert (stopper.certificate.incumbent, stopper.certificate.incumbent_value) == (8, 0.0)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 1e4), (0.1, 72.0), (1.0, -1e4)])
def test_another_offset_changes_no_decision(scale, shift):
    points = random_points(PLANE, 12)
    plain, shifted = gap(0.3), gap(0.3 * scale)
    for n in range(1, 13):
        values = [bowl(x) for x in points[:n]]
        decisions = (
            plain(told(PLANE, points[:n], values)),
            shifted(told(PLANE, points[:n], [scale * v + shift for v in values])),
        )
        assert decisions[0] == decisions[1]
    for one, other in zip(plain.certificates, shifted.certificates, strict=True):
        assert other.incumbent == one.incumbent
        assert other.bound == pytest.approx(scale * one.bound, rel=1e-3)  # 1e4 leaves twelve digits of the values


def test_near_repeats_are_data_like_any_other(caplog):
    """Points that differ by 1e-9, in one dimension or in both, and values that differ by their noise."""
    rng = np.random.default_rng(0)
    points = random_points(PLANE, 8)
    points = [[a + da, b + db] for a, b in points for da, db in ((0, 0), (1e-9, 0), (0, 1e-9), (1e-9, -1e-9))]
    stopper = gap(1e-9)
    stopper(told(PLANE, points, [bowl(x) + 0.01 * rng.standard_normal() for x in points]))
    assert stopper.certificate.n_observations == 32
    assert 0 < stopper.certificate.bound < math.inf
    assert not caplog.records


@pytest.mark.parametrize("fixed", [[1], (1,), ["only"], [None], [0.5]], ids=str)
@pytest.mark.parametrize("minimizer", [gp_minimize, forest_minimize])
def test_a_dimension_with_one_value_is_searched_past(minimizer, fixed):
    """The one way in which scikit-optimize lets a dimension be fixed."""
    stopper = gap(1e-9)
    result = minimizer(parabola, [(-5.0, 5.0), fixed], n_calls=6, n_initial_points=4, random_state=0, callback=stopper)
    alone = gap(1e-9)
    alone(told([(-5.0, 5.0)], [x[:1] for x in result.x_iters], result.func_vals.tolist()))
    assert stopper.certificate == alone.certificate
    assert math.isfinite(stopper.certificate.bound)


def test_a_range_without_width_is_refused_by_scikit_optimize_before_anything_is_evaluated():
    stopper = gap()
    with pytest.raises(ValueError, match="lower bound 1 has to be less than the upper bound 1"):
        gp_minimize(parabola, [(-5.0, 5.0), (1, 1)], n_calls=3, n_initial_points=3, callback=stopper)
    assert stopper.certificate is None
    # Once narrowed to a point by hand, it does not vary.
    space = Space([(-5.0, 5.0), (1, 2)])
    space.dimensions[1].high = 1
    assert stopper(told(space, [[0.0, 1]], [1.0])) is False
    assert stopper.certificate.n_observations == 1


@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.parametrize(
    "other", [HollowIterationsStopper(2), DeltaYStopper(1e9, n_best=3), ThresholdStopper(1e9), TimerCallback()]
)
def test_beside_another_callback_every_evaluation_is_seen_whoever_ends_the_search(other, ours_first):
    stopper = gap(1e-9)
    callbacks = [stopper, other] if ours_first else [other, stopper]
    options = {"n_calls": 8, "n_initial_points": 8, "random_state": 0}
    result = forest_minimize(parabola, [(-5.0, 5.0)], callback=callbacks, **options)
    n = len(result.x_iters)
    assert n == (8 if isinstance(other, TimerCallback) else n) <= 8
    assert len(stopper.certificates) == n
    assert stopper.certificate.stop is False
