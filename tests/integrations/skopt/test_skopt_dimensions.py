import math

import numpy as np
import pytest
from regretstop_skopt import RegretBoundStopper
from regretstop_skopt._result import names_of, parameters_of
from skopt import Optimizer, Space, forest_minimize, gp_minimize
from skopt.space import Categorical, Integer, Real

import regretstop
from regretstop import Float, Int, OptimalityGap
from tests.integrations.skopt.objectives import REPEATED, told

pytestmark = pytest.mark.filterwarnings(REPEATED)


@pytest.mark.parametrize(
    ("dimension", "parameter"),
    [
        (Real(-1, 2), Float(-1.0, 2.0)),
        (Real(1e-4, 1.0, prior="log-uniform"), Float(1e-4, 1.0, log=True)),
        (Real(1e-4, 1.0, prior="log-uniform", base=2), Float(1e-4, 1.0, log=True)),
        (Real(0, 1, transform="normalize", dtype=np.float32), Float(0.0, 1.0)),
        (Integer(-3, 3), Int(-3, 3)),
        (Integer(1, 100, prior="log-uniform"), Int(1, 100, log=True)),
        (Integer(np.int64(0), 10**9, dtype=int), Int(0, 10**9)),
        (Categorical(["a", "b"], prior=[0.9, 0.1]), regretstop.Categorical(["a", "b"])),
        (Categorical([(1, 2), (3,), None, True, 0.5]), regretstop.Categorical([(1, 2), (3,), None, True, 0.5])),
    ],
)
def test_each_kind_of_dimension(dimension, parameter):
    assert parameters_of([dimension]) == {"x0": parameter}


def test_the_gp_changes_the_users_dimensions_but_not_what_we_read():
    dimensions = [Real(1e-3, 1, "log-uniform"), Integer(1, 9), Categorical([1, 2, 3], transform="label")]
    before = parameters_of(dimensions)
    Optimizer(dimensions, base_estimator="GP")
    assert [d.transform_ for d in dimensions] == ["normalize", "normalize", "onehot"]  # why it must not matter
    assert parameters_of(dimensions) == before


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ([None, None], ["x0", "x1"]),
        (["lr", None], ["lr", "x1"]),
        (["a", "a"], ["0: a", "1: a"]),
        (["x1", None], ["0: x1", "1: x1"]),
        (["a", "a", "1: a"], ["0: a", "1: a", "2: 1: a"]),
    ],
)
def test_names_are_distinct(given, names):
    assert names_of([Real(0, 1, name=name) for name in given]) == names


def test_dimensions_of_one_name_are_two_axes():
    dimensions = [Real(0, 1, name="a"), Real(0, 1, name="a")]
    stopper = RegretBoundStopper(1e-9)
    stopper(told(dimensions, [[0.1, 0.9]], [1.0]))
    assert list(stopper.observations[0].params.values()) == [0.1, 0.9]


@pytest.mark.parametrize("minimizer", [pytest.param(gp_minimize, marks=pytest.mark.slow), forest_minimize])
@pytest.mark.parametrize(
    "categories",
    [["a", "b", "c"], [1, "a", None], [True, False], [None, 2.5], [0.1, 0.5, 10], np.array(["p", "q"])],
    ids=str,
)
def test_values_that_come_back_as_numpy_scalars_are_the_categories(minimizer, categories):
    stopper = RegretBoundStopper(1e-9)
    dimensions = [Categorical(categories), Integer(1, 1000, "log-uniform"), Real(0, 1)]
    result = minimizer(
        lambda x: x[2] + math.log(x[1]) + len(str(x[0])),
        dimensions,
        n_calls=7,
        n_initial_points=4,
        random_state=1,
        callback=stopper,
    )
    assert any(isinstance(v, np.generic) for x in result.x_iters for v in x)
    assert (stopper.certificate.n_observations, stopper.certificate.n_excluded) == (7, 0)


def test_tuples_are_categories():
    """They survive scikit-optimize only until it fits a model."""
    dimensions = [Categorical([(1, 2), (3, 4)]), Real(0, 1)]
    stopper = RegretBoundStopper(1e-9)
    stopper(told(dimensions, [[(1, 2), 0.5], [(3, 4), 0.1]], [1.0, 2.0]))
    assert (stopper.certificate.n_observations, stopper.certificate.n_excluded) == (2, 0)


def test_a_dimension_with_one_value_does_not_count():
    points = [[0.1 * k, "only"] for k in range(11)]
    values = [(x[0] - 0.3) ** 2 for x in points]
    with_it, without = RegretBoundStopper(1e-9), RegretBoundStopper(1e-9)
    with_it(told([Real(0, 1), Categorical(["only"])], points, values))
    without(told([Real(0, 1)], [x[:1] for x in points], values))
    assert math.isfinite(with_it.certificate.bound)
    assert with_it.certificate == without.certificate


def test_a_space_without_choice_runs_on_and_is_said_once(caplog):
    stopper = RegretBoundStopper(1.0)
    result = forest_minimize(
        lambda x: 1.0, [["a"], ["b"]], n_calls=4, n_initial_points=4, random_state=0, callback=stopper
    )
    assert len(result.x_iters) == 4
    assert [math.isinf(c.bound) for c in stopper.certificates] == [True] * 4
    assert stopper.certificate.reason == "the search has no dimension that varies"
    assert stopper.certificate.n_observations == 4
    assert [r.getMessage() for r in caplog.records] == [
        "No regret bound for the search: the search has no dimension that varies. It runs on."
    ]


@pytest.mark.filterwarnings("ignore:invalid value encountered in log10:RuntimeWarning")
def test_a_dimension_that_cannot_be_modelled_runs_on_and_is_said_once(caplog):
    dimensions = [Real(-10, -1, prior="log-uniform", name="negative")]
    stopper = RegretBoundStopper(1.0)
    for n in (1, 2):
        assert stopper(told(dimensions, [[-2.0]] * n, [0.5] * n)) is False
    assert math.isinf(stopper.certificate.bound)
    assert "'negative'" in stopper.certificate.reason
    assert [r.levelname for r in caplog.records] == ["WARNING"]


def test_a_dimension_of_unknown_kind_is_named():
    class Odd(Integer):
        pass

    class Unknown(type(Real(0, 1)).__base__):
        name = "odd"

    assert parameters_of([Odd(1, 3)]) == {"x0": Int(1, 3)}
    with pytest.raises(ValueError, match="'odd'"):
        parameters_of([Unknown()])


def test_a_huge_integer_range_makes_no_table():
    stopper = RegretBoundStopper(rule=OptimalityGap(epsilon=1e-9, beta="grid"))
    points = [[k * 10**8] for k in range(8)]
    stopper(told([Integer(0, 10**9)], points, [float(k) for k in range(8)]))
    assert stopper.certificate.n_observations == 8


def test_a_space_object_is_read_as_its_dimensions():
    stopper = RegretBoundStopper(1.0)
    stopper(told(Space([(0.0, 1.0), (1, 3)]), [[0.5, 2]], [1.0]))
    assert stopper.observations[0].params == {"x0": 0.5, "x1": 2}
