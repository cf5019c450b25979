"""The search space: coordinates, rounding, counts, and what awkward input must get."""

import copy
import doctest
import math
import pickle
import re
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import regretstop.spaces._space
from regretstop.spaces import Categorical, Float, Int, Parameter, Space

# ---------------------------------------------------------------------------------- strategies

_bounds = st.floats(-1e6, 1e6)


@st.composite
def _floats(draw: st.DrawFn) -> Float:
    low, high = sorted([draw(_bounds), draw(_bounds)])
    return Float(low, high)


@st.composite
def _log_floats(draw: st.DrawFn) -> Float:
    low = draw(st.floats(1e-300, 1e300))
    return Float(low, low * draw(st.floats(1.001, 1e6)), log=True)


@st.composite
def _stepped_floats(draw: st.DrawFn) -> Float:
    low = draw(st.integers(-1000, 1000)) / 100
    step = draw(st.sampled_from([0.001, 0.1, 0.25, 0.3, 1.0, 7.0]))
    return Float(low, low + draw(st.floats(0, 50)), step=step)


@st.composite
def _ints(draw: st.DrawFn) -> Int:
    low = draw(st.integers(-(10**6), 10**6))
    return Int(low, low + draw(st.integers(0, 10**9)), step=draw(st.integers(1, 1000)))


@st.composite
def _log_ints(draw: st.DrawFn) -> Int:
    low = draw(st.one_of(st.integers(1, 10), st.integers(1, 10**15)))
    return Int(low, low + draw(st.one_of(st.integers(0, 20), st.integers(0, 10**11))), log=True)


_choices = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.floats(),
    st.text(max_size=2),
    st.tuples(st.integers(), st.text(max_size=1)),
    st.lists(st.integers(0, 2), max_size=2),
)
_categoricals = st.lists(_choices, min_size=1, max_size=6).map(Categorical)
_discrete = st.one_of(_stepped_floats(), _ints(), _log_ints(), _categoricals)
_parameters = st.one_of(_floats(), _log_floats(), _discrete)


def _spaces(parameters: st.SearchStrategy[Any]) -> st.SearchStrategy[Space]:
    return (
        st.dictionaries(st.text("abcdef", min_size=1, max_size=2), parameters, min_size=1)
        .filter(lambda parameters: any(p.count > 1 for p in parameters.values()))
        .map(Space)
    )


def _coordinates(draw: st.DataObject, space: Space) -> np.ndarray:
    """A point of the (slightly widened) box of the space, any cell equally likely."""
    u = draw.draw(st.lists(st.floats(-0.1, 1.1), min_size=space.dim, max_size=space.dim))
    return np.array(u) * np.maximum(space.categories, 1)


# ---------------------------------------------------------------------------------- properties


@given(_spaces(_parameters), st.data())
def test_decoded_points_are_always_valid(space: Space, data: st.DataObject) -> None:
    params = space.decode(_coordinates(data, space))
    assert list(params) == list(space)
    assert space.contains(params)
    assert space.inside([space.encode(params)]).all()
    for name, parameter in space.items():
        match parameter:
            case Float():
                assert type(params[name]) is float
                assert parameter.low <= params[name] <= parameter.high
            case Int():
                assert type(params[name]) is int
                assert parameter.low <= params[name] <= parameter.high
                assert (params[name] - parameter.low) % parameter.step == 0
            case Categorical():
                assert any(params[name] is choice for choice in parameter.choices)


@given(_spaces(_discrete), st.data())
def test_discrete_points_survive_the_round_trip_exactly(space: Space, data: st.DataObject) -> None:
    params = space.decode(_coordinates(data, space))
    again = space.decode(space.encode(params))
    for name, value in params.items():
        assert type(again[name]) is type(value)
        assert again[name] is value or again[name] == value


@given(_spaces(st.one_of(_floats(), _log_floats())), st.data())
def test_continuous_points_survive_the_round_trip(space: Space, data: st.DataObject) -> None:
    params = space.decode(_coordinates(data, space))
    again = space.decode(space.encode(params))
    for name, value in params.items():
        parameter = space[name]
        assert isinstance(parameter, Float)
        # A coordinate is exact to a few ulp: of the range, or of the logarithms of the bounds.
        scale = 700 * value if parameter.log else max(abs(parameter.low), abs(parameter.high))
        assert again[name] == pytest.approx(value, rel=0, abs=1e-15 * scale + 1e-300)


@given(_spaces(_parameters), st.data())
def test_snap_is_idempotent_and_agrees_with_decode(space: Space, data: st.DataObject) -> None:
    x = _coordinates(data, space)
    snapped = space.snap([x])
    np.testing.assert_array_equal(space.snap(snapped), snapped)
    assert space.inside(snapped).all()
    through_values = space.encode(space.decode(x))
    discrete = np.isfinite(space.counts)
    # To the last bit, so that a proposal is recognised when its value is told.
    np.testing.assert_array_equal(through_values[discrete], snapped[0][discrete])


@given(_spaces(_parameters))
def test_counts(space: Space) -> None:
    assert space.dim == len(space.names) == len(space.counts) == len(space.categories)
    assert space.names == tuple(name for name in space if space[name].count > 1)
    for name, count, categories in zip(space.names, space.counts, space.categories, strict=True):
        parameter = space[name]
        match parameter:
            case Categorical():
                assert count == categories == len(parameter.choices)
            case Int():
                assert count == len(range(parameter.low, parameter.high + 1, parameter.step))
                assert categories == 0
            case Float():
                assert math.isinf(count) == (parameter.step is None)
                assert categories == 0
    assert space.size == math.prod(space.counts.tolist())


# ---------------------------------------------------------------------------------- coordinates


def test_linear_values_are_cell_centres() -> None:
    space = Space({"n": Int(1, 4), "x": Float(0.0, 0.3, step=0.1)})
    np.testing.assert_allclose(space.axis_values(0), [0.125, 0.375, 0.625, 0.875])
    np.testing.assert_allclose(space.axis_values(1), [0.125, 0.375, 0.625, 0.875])
    np.testing.assert_allclose(space.encode({"n": 2, "x": 0.2}), [0.375, 0.625])


def test_log_integers_are_widened_before_the_logarithm() -> None:
    space = Space({"n": Int(1, 100, log=True)})
    expected = np.log(np.arange(1, 101) / 0.5) / np.log(100.5 / 0.5)
    np.testing.assert_allclose(space.axis_values(0), expected)
    assert [space.encode({"n": n})[0] for n in range(1, 101)] == space.axis_values(0).tolist()
    # The border between two cells is half way between the values.
    border = math.log(1.5 / 0.5) / math.log(100.5 / 0.5)
    assert space.decode([border - 1e-9]) == {"n": 1}
    assert space.decode([border + 1e-9]) == {"n": 2}


def test_continuous_bounds_are_exact() -> None:
    space = Space({"lr": Float(1e-5, 0.1, log=True), "x": Float(-0.1, 0.7)})
    assert space.decode([0.0, 0.0]) == {"lr": 1e-5, "x": -0.1}
    assert space.decode([1.0, 1.0]) == {"lr": 0.1, "x": 0.7}
    assert space.encode({"lr": 1e-3, "x": 0.3}) == pytest.approx([0.5, 0.5])


def test_snap_moves_to_the_nearest_value() -> None:
    space = Space({"x": Float(0, 1), "n": Int(0, 1), "c": Categorical("abc".__iter__())})
    points = [[-0.5, 0.49, 0.4], [0.3, 0.51, 1.6], [7.0, 7.0, 7.0]]
    expected = [[0.0, 0.25, 0.0], [0.3, 0.75, 2.0], [1.0, 0.75, 2.0]]
    np.testing.assert_array_equal(space.snap(points), expected)
    assert points[0] == [-0.5, 0.49, 0.4]
    assert space.snap(np.empty((0, 3))).shape == (0, 3)


def test_enumerate_lists_each_point_once() -> None:
    space = Space({"n": Int(1, 3), "fixed": Int(5, 5), "c": Categorical(["a", None])})
    assert space.size == 6
    assert [space.decode(x) for x in space.enumerate()] == [
        {"n": n, "fixed": 5, "c": c} for n in (1, 2, 3) for c in ("a", None)
    ]
    with pytest.raises(ValueError, match="'x'"):
        Space({"x": Float(0, 1)}).enumerate()


def test_inside_is_about_the_range_of_values() -> None:
    space = Space({"n": Int(1, 4), "x": Float(0, 1)})
    points = [[0.125, 0.0], [0.875, 1.0], [0.5, 0.5], [0.12, 0.5], [0.88, 0.5], [0.5, 1.01]]
    assert space.inside(points).tolist() == [True, True, True, False, False, False]
    assert space.inside([[0.125 - 1e-12, 1.0 + 1e-12]]).all()


def test_it_is_a_mapping() -> None:
    parameters: dict[str, Parameter] = {"x": Float(0, 1), "n": Int(3, 3)}
    space = Space(parameters)
    assert dict(space) == parameters
    assert space == Space(parameters)
    assert eval(repr(space)) == space
    assert pickle.loads(pickle.dumps(space)) == copy.deepcopy(space) == space


def test_the_docstring_is_true() -> None:
    failures, tests = doctest.testmod(regretstop.spaces._space)
    assert tests > 0
    assert failures == 0


# ---------------------------------------------------------------------------------- awkward spaces


@pytest.mark.parametrize(
    "parameter",
    [
        Int(0, 10**9),
        Float(0, 1, step=1e-9),
        Int(1, 10**9, log=True),
        Int(0, 10**18),
        Int(-(2**62), 2**62),
        Float(0, 1, step=1e-15),
    ],
)
def test_a_huge_range_needs_no_table(parameter: Parameter) -> None:
    tracemalloc.start()
    space = Space({"n": parameter})
    for u in (0.0, 0.123456789, 1.0):
        space.encode(space.decode(space.snap([[u]])[0]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e5
    for u in (0.0, 0.123456789, 1.0):
        params = space.decode(space.snap([[u]])[0])
        assert space.contains(params)
        assert space.encode(params) == pytest.approx([u], abs=0.04)


def test_values_of_a_huge_range_are_told_apart() -> None:
    space = Space({"n": Int(0, 10**9), "x": Float(0, 1, step=1e-9), "m": Int(1, 10**9, log=True)})
    params = {"n": 123456789, "x": 0.123456789, "m": 987654321}
    assert space.decode(space.encode(params)) == params
    assert not space.inside([space.encode({**params, "n": -1})]).any()
    assert not space.inside([space.encode({**params, "m": 10**9 + 1})]).any()


def test_an_axis_beyond_float_resolution_counts_as_continuous() -> None:
    space = Space({"n": Int(0, 2**62)})
    assert space.counts.tolist() == [math.inf]
    assert space.decode([0.5])["n"] == 2**61


def test_a_step_that_does_not_divide_the_range() -> None:
    space = Space({"x": Float(0, 1, step=0.3), "n": Int(0, 10, step=4)})
    assert [p["x"] for p in map(space.decode, space.enumerate())][::3] == [0.0, 0.3, 0.6, 0.9]
    assert [p["n"] for p in map(space.decode, space.enumerate())][:3] == [0, 4, 8]
    assert space.decode([1.0, 1.0]) == {"x": 0.9, "n": 8}
    assert not space.contains({"x": 1.0, "n": 8})
    assert not space.contains({"x": 0.9, "n": 10})


def test_stepped_values_print_cleanly_and_binary_ones_are_recognised() -> None:
    space = Space({"x": Float(0, 1, step=0.1)})
    values = [space.decode(x)["x"] for x in space.enumerate()]
    assert repr(values) == "[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]"
    binary = 0.1 * 3  # 0.30000000000000004
    assert space.contains({"x": binary})
    assert space.encode({"x": binary}) == space.encode({"x": 0.3})


def test_log_integers_from_one() -> None:
    space = Space({"n": Int(1, 8, log=True)})
    assert [space.decode(x)["n"] for x in space.enumerate()] == list(range(1, 9))


@pytest.mark.parametrize(
    ("fixed", "value"),
    [
        (Float(0.1, 0.1), 0.1),
        (Float(2, 2, log=True), 2.0),
        (Float(0, 1, step=3), 0.0),
        (Int(4, 4), 4),
        (Int(3, 3, log=True), 3),
        (Int(0, 5, step=10), 0),
        (Categorical([None]), None),
        (Categorical(["a", "a"]), "a"),
    ],
)
def test_a_fixed_axis_is_no_dimension(fixed: Parameter, value: Any) -> None:
    space = Space({"fixed": fixed, "x": Float(0, 1)})
    assert space.names == ("x",)
    assert space.dim == 1
    assert space.decode([0.5]) == {"fixed": value, "x": 0.5}
    assert space.encode({"x": 0.5}) == space.encode({"x": 0.5, "fixed": value}) == [0.5]
    assert space.contains({"x": 0.5})
    assert not space.contains({"x": 0.5, "fixed": "other"})
    with pytest.raises(ValueError, match="'fixed' cannot be 'other': it is fixed at"):
        space.encode({"x": 0.5, "fixed": "other"})


def test_many_mixed_axes_and_many_categories() -> None:
    parameters: dict[str, Parameter] = {"one": Categorical(["only"])}
    for i in range(7):
        parameters[f"x{i}"] = Float(0, 1)
        parameters[f"n{i}"] = Int(1, 10**6, log=True)
        parameters[f"s{i}"] = Float(0, 10, step=0.5)
        parameters[f"c{i}"] = Categorical(range(50))
    space = Space(parameters)
    assert space.dim == 28
    assert space.size == math.inf
    params = space.decode(space.snap(np.full((1, 28), 0.4))[0])
    assert space.decode(space.encode(params)) == params


def test_a_finite_size_may_overflow() -> None:
    space = Space({f"n{i}": Int(1, 10**12) for i in range(30)})
    assert space.size == math.inf


# ---------------------------------------------------------------------------------- categories


def test_categories_are_returned_as_given() -> None:
    nan = float("nan")
    shape = [1, 2]
    choices = [None, (1, 2), 1, True, 1.0, nan, "1", shape, {"a": 1}, np.float32(0.5), len]
    space = Space({"c": Categorical(choices)})
    assert space.categories.tolist() == [len(choices)]
    for index, choice in enumerate(choices):
        x = space.encode({"c": choice})
        assert x == [index]
        assert space.decode(x)["c"] is choice


def test_categories_are_found_by_type_first_then_loosely() -> None:
    space = Space({"c": Categorical([0, False, 2.0, float("nan")])})
    assert space.encode({"c": False}) == [1]
    assert space.encode({"c": 0}) == [0]
    assert space.encode({"c": 2}) == [2]
    assert space.encode({"c": float("nan")}) == [3]
    assert not space.contains({"c": "0"})


def test_repeated_categories_are_kept_once() -> None:
    assert Categorical(["a", "b", "a", 1, True, 1, [1], [1]]).choices == ("a", "b", 1, True, [1])


def test_arrays_as_categories() -> None:
    arrays = [np.zeros(2), np.ones(2)]
    space = Space({"c": Categorical(arrays)})
    assert space.decode(space.encode({"c": arrays[1]}))["c"] is arrays[1]


# ---------------------------------------------------------------------------------- odd points


def test_a_point_outside_the_range_is_encoded_outside() -> None:
    space = Space({"x": Float(0, 1), "lr": Float(0.01, 1, log=True), "n": Int(1, 8, log=True)})
    x = space.encode({"x": 2.0, "lr": 0.001, "n": 0.25, "unlisted": None})
    expected = [2.0, -0.5, math.log(0.25 / 0.5) / math.log(8.5 / 0.5)]
    np.testing.assert_allclose(x, expected)
    assert not space.inside([x]).any()
    assert not space.contains({"x": 2.0, "lr": 0.1, "n": 1})


def test_an_integer_axis_takes_a_value_between_integers() -> None:
    space = Space({"n": Int(0, 3)})
    assert space.encode({"n": 1.5}) == [0.5]
    assert space.contains({"n": 2.0})
    assert not space.contains({"n": 1.5})


def test_numpy_numbers_are_numbers() -> None:
    space = Space({"n": Int(np.int64(0), np.int32(3)), "x": Float(np.float64(0.0), np.float32(1.0))})
    assert space.encode({"n": np.int64(1), "x": np.float32(0.5)}).tolist() == [0.375, 0.5]
    assert repr(space["n"]) == "Int(low=0, high=3, log=False, step=1)"
    assert repr(space["x"]) == "Float(low=0.0, high=1.0, log=False, step=None)"


@pytest.mark.parametrize("value", [None, "0.5", math.nan, math.inf, -math.inf, True, 10**400, 1j])
@pytest.mark.parametrize("parameter", [Float(0, 1), Float(1, 2, log=True), Float(0, 1, step=0.1), Int(0, 1), Int(1, 3)])
def test_a_value_that_is_no_finite_number(parameter: Parameter, value: Any) -> None:
    space = Space({"p": parameter})
    assert not space.contains({"p": value})
    with pytest.raises(ValueError, match="parameter 'p' cannot be") as caught:
        space.encode({"p": value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [0, -1, 0.0])
@pytest.mark.parametrize("parameter", [Float(1, 2, log=True), Int(1, 2, log=True)])
def test_a_value_without_logarithm(parameter: Parameter, value: float) -> None:
    with pytest.raises(ValueError, match=f"'p' cannot be {value!r}: it has no logarithm"):
        Space({"p": parameter}).encode({"p": value})


def test_extreme_values_of_a_log_integer_axis() -> None:
    space = Space({"n": Int(5, 9, log=True)})
    assert np.isfinite(space.encode({"n": 5e-324})).all()
    assert np.isfinite(space.encode({"n": 1e308})).all()


def test_a_coordinate_that_overflows() -> None:
    with pytest.raises(ValueError, match="'x' cannot be 1e\\+308: it is too large"):
        Space({"x": Float(0, 1e-5)}).encode({"x": 1e308})


def test_a_missing_parameter_and_an_unknown_category() -> None:
    space = Space({"x": Float(0, 1), "c": Categorical(["a", "b"])})
    assert not space.contains({"x": 0.5})
    with pytest.raises(ValueError, match="parameter 'c' is missing"):
        space.encode({"x": 0.5})
    with pytest.raises(ValueError, match="'c' cannot be 'z': it is none of the choices"):
        space.encode({"x": 0.5, "c": "z"})


@pytest.mark.parametrize("x", [[0.5], [0.5, math.nan], [[0.5, 0.5]], []])
def test_decode_refuses_what_is_no_point(x: Any) -> None:
    with pytest.raises(ValueError, match="x must be 2 numbers"):
        Space({"x": Float(0, 1), "y": Float(0, 1)}).decode(x)


# ---------------------------------------------------------------------------------- bad definitions


@pytest.mark.parametrize(
    ("define", "message"),
    [
        (lambda: Float(2, 1), "low must not exceed high, got low=2.0, high=1.0"),
        (lambda: Float(math.nan, 1), "low must be a finite number, got low=nan"),
        (lambda: Float(0, math.inf), "high must be a finite number, got high=inf"),
        (lambda: Float(0, "1"), "high must be a finite number, got high='1'"),
        (lambda: Float(0, 10**400), "high must be a finite number, got high=10"),
        (lambda: Float(-1.7e308, 1.7e308), "high - low must not overflow"),
        (lambda: Float(0, 1, log=True), "low must be positive when log=True, got low=0.0"),
        (lambda: Float(1e10, 1e10 * (1 + 2e-16), log=True), "too close for log=True"),
        (lambda: Float(1, 2, log=True, step=0.1), "step must be None when log=True, got step=0.1"),
        (lambda: Float(0, 1, step=0), "step must be positive, got step=0.0"),
        (lambda: Float(0, 1, step=math.nan), "step must be a finite number, got step=nan"),
        (lambda: Float(0, 1e308, step=1e-300), "step is too small for the range"),
        (lambda: Int(2, 1), "low must not exceed high, got low=2, high=1"),
        (lambda: Int(0, 1.5), "high must be an integer, got high=1.5"),
        (lambda: Int(0, math.inf), "high must be an integer, got high=inf"),
        (lambda: Int(math.nan, 1), "low must be an integer, got low=nan"),
        (lambda: Int(0, None), "high must be an integer, got high=None"),
        (lambda: Int(0, 10**400), "high must not exceed"),
        (lambda: Int(0, 5, log=True), "low must be at least 1 when log=True, got low=0"),
        (lambda: Int(1, 5, log=True, step=2), "step must be 1 when log=True, got step=2"),
        (lambda: Int(0, 5, step=0), "step must be at least 1, got step=0"),
        (lambda: Categorical([]), "choices must not be empty, got choices="),
        (lambda: Categorical("abc"), "choices must be a collection of values, got choices='abc'"),
        (lambda: Space({}), "parameters must not be empty"),
        (lambda: Space({"x": Int(1, 1)}), "no free parameter"),
        (lambda: Space({"x": (0, 1)}), "x must be a Float, Int or Categorical, got"),
    ],
)
def test_a_bad_definition_names_argument_and_value(define: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        define()


def test_spaces_are_equal_where_points_and_coordinates_are() -> None:
    parameters = {"m": Categorical(["a", "b"]), "C": Float(0, 1)}
    turned = {"C": Float(0, 1), "m": Categorical(["a", "b"])}
    when = {"C": {"m": ["a"]}}
    assert Space(parameters) == Space(dict(parameters))
    assert Space(parameters, when=when) == Space(parameters, when={"C": {"m": ("a",)}})
    assert Space(parameters) == Space(parameters, when={"C": {"m": ["a", "b"]}})  # which is no condition
    assert Space(parameters) != Space(turned)
    assert Space(parameters) != Space(parameters, when=when)
    assert Space(parameters) != Space(parameters | {"C": Float(0, 2)})
    assert Space(parameters) != parameters
