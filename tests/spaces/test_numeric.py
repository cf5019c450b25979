"""NumPy's numbers are the Python numbers that are meant by them."""

import math
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import GPUCB, Categorical, Float, Int, OptimalityGap, Space
from regretstop.spaces import to_number, to_python
from regretstop.spaces._numbers import to_float, to_integer

narrow = st.sampled_from([np.float16, np.float32])


@given(st.decimals(-1000, 1000, places=3), narrow)
def test_a_narrow_float_is_the_decimal_number_that_was_stored_in_it(decimal: Any, kind: Any) -> None:
    digits = 3 if kind is np.float16 else 6
    meant = float(f"{decimal:.{digits}g}")
    assert to_number(kind(meant)) == meant
    assert type(to_number(kind(meant))) is float


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_two_narrow_floats_stay_two(value: float) -> None:
    assert np.float32(to_float(np.float32(value))) == np.float32(value)


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([np.float64, np.longdouble, np.array]))
def test_a_wide_float_keeps_every_bit(value: float, kind: Any) -> None:
    assert to_number(kind(value)) == value


@given(st.integers(-128, 127), st.sampled_from([np.int8, np.int16, np.int32, np.int64, np.array]))
def test_integers_stay_integers(value: int, kind: Any) -> None:
    assert (to_number(kind(value)), type(to_number(kind(value)))) == (value, int)
    assert to_integer("n", kind(value)) == value


def test_print_options_change_nothing() -> None:
    with np.printoptions(precision=2, legacy="1.13"):
        assert to_python(np.float32(0.0123456)) == 0.0123456


@pytest.mark.parametrize(
    "value", [np.bool_(True), np.array(True), np.str_("1"), np.array([1.0]), np.complex128(1), np.float32("nan"), True]
)
def test_what_is_no_finite_number(value: Any) -> None:
    with pytest.raises(ValueError, match=r"not a number|not finite"):
        to_number(value)


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.array("a"), "a"),
        (np.datetime64("2020-01-01T00:00"), datetime(2020, 1, 1)),
        (np.array(None), None),
        (math.pi, math.pi),
        ("a", "a"),
    ],
)
def test_other_values(value: Any, meant: Any) -> None:
    assert to_python(value) == meant
    assert type(to_python(value)) is type(meant)


def test_an_array_is_no_scalar() -> None:
    array = np.array([1.0])
    assert to_python(array) is array


CHOICES = [1, True, 1.0, 0.1, 0, False, "a", None]


@pytest.mark.parametrize("index", [i for i, choice in enumerate(CHOICES) if choice is not None])
@pytest.mark.parametrize("wrap", [np.asarray, lambda choice: np.asarray(choice)[()]], ids=["array", "scalar"])
def test_a_choice_is_found_by_its_kind(index: int, wrap: Any) -> None:
    assert Categorical(CHOICES).encode(wrap(CHOICES[index])) == index


def test_numpy_choices_are_found_as_themselves_and_by_the_python_value() -> None:
    choices = Categorical([np.int64(16), np.int64(32), np.float32(0.1), np.bool_(True)])
    assert [choices.encode(c) for c in choices.choices] == [0, 1, 2, 3]
    assert [choices.encode(c) for c in (16, 32, 0.1, True)] == [0, 1, 2, 3]


KINDS = {"lr": np.float32, "step": np.float32, "n": np.int64, "k": np.uint8, "flag": np.bool_, "name": np.str_}
SPACE = Space(
    {
        "lr": Float(1e-4, 0.1, log=True),
        "step": Float(0, 1, step=0.1),
        "n": Int(1, 1000, log=True),
        "k": Int(0, 20, step=5),
        "flag": Categorical([1, True, False]),
        "name": Categorical(["a", "b"]),
    }
)


def test_a_history_in_numpy_is_the_history() -> None:
    """A row of a table, told to the core: the same points, and so the same certificate and the same next point."""
    one, other = (GPUCB(SPACE, seed=0) for _ in range(2))
    values = np.random.default_rng(0).random(12).astype(np.float32)
    for i, value in enumerate(values):
        params = {
            "lr": [1e-4, 0.01, 0.1][i % 3],
            "step": [0.3, 0.7, 1.0][i % 3],
            "n": [1, 30, 1000][(i + 1) % 3],
            "k": [0, 5, 20][(i + 2) % 3],
            "flag": [1, True, False][i % 3],
            "name": "ab"[i % 2],
        }
        one.tell(params, float(value))
        kinds = {**KINDS, "flag": np.asarray}
        other.tell({name: kinds[name](v) for name, v in params.items()}, value)
    assert all(SPACE.contains(o.params) for o in other.history)
    certificates = [optimizer.certificate(OptimalityGap(0.1, beta="grid")) for optimizer in (one, other)]
    assert certificates[0] == certificates[1]
    assert one.ask() == other.ask()
