"""Numbers at the edge of what can be counted with, and things that are no numbers: a finite bound, or a name."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

from regretstop import (
    GPUCB,
    PRB,
    AcquisitionThreshold,
    CostAware,
    DeltaCB,
    DeltaES,
    ExpectedRegret,
    Float,
    GaussianProcess,
    Observation,
    OptimalityGap,
    Space,
    UCBbr,
    instantaneous_regret_bound,
)
from regretstop.rules import Rule

SQUARE = Space({"x": Float(0, 1), "y": Float(0, 1)})


@pytest.mark.parametrize("surrogate", [None, GaussianProcess(noise_std=0.0)])
@pytest.mark.parametrize("best_possible", [0.0, 0.999])
def test_a_ceiling_and_no_noise_warn_of_nothing(surrogate: Any, best_possible: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(3):
            optimizer = GPUCB(
                Space({"x": Float(0, 1)}),
                direction="minimize",
                surrogate=surrogate,
                best_possible=best_possible,
                seed=seed,
            )
            for _ in range(9):
                params = optimizer.ask(epsilon=1e-4)
                optimizer.tell(params, 1.0 + (params["x"] - 0.3) ** 2)
                assert optimizer.certificate(UCBbr(1e-4)).bound >= 0.0


@pytest.mark.parametrize(("n", "slope"), [(2, 1.0), (15, 0.0), (15, 1e-3)])
def test_without_noise_the_ceiling_holds_where_there_is_no_model(n: int, slope: float) -> None:
    optimizer = GPUCB(
        SQUARE,
        direction="minimize",
        surrogate=GaussianProcess(noise_std=0.0),
        best_possible=0.0,
        seed=0,
    )
    values = [1.0 + slope * i / n for i in range(n)]
    for value in values:
        optimizer.tell(optimizer.ask(), value)
    certificate = optimizer.certificate(UCBbr(0.01))
    assert not certificate.stop
    assert certificate.bound <= 1.0
    if n == 2 or slope == 0.0:
        assert (certificate.bound, certificate.guarantee, certificate.incumbent) == (1.0, "theorem", 0)
        assert "; " in certificate.reason  # and why there is no model


@pytest.mark.parametrize("scale", [1e100, 1e200])
def test_an_epsilon_below_rounding_has_a_finite_bound(scale: float) -> None:
    """The count starts where rounding lets it, and not at ε."""
    for values, epsilon in ((scale, 0.01), (1.0, 0.01 / scale)):
        optimizer = GPUCB(Space({"x": Float(0, 1)}), direction="minimize", seed=0)
        for i in range(8):
            optimizer.tell({"x": i / 8.0}, values * math.sin(i))
        certificate = optimizer.certificate(UCBbr(epsilon))
        assert not certificate.stop
        assert epsilon < certificate.bound < math.inf
        assert certificate.left.probability == 1.0


@pytest.mark.parametrize("value", ["0.5", 10**400, [1.0]])
def test_a_value_that_is_no_number_is_named_wherever_it_comes_from(value: Any) -> None:
    with pytest.raises(ValueError, match="value must be a number or None, got"):
        Observation({"x": 0.5}, value, 0)


def test_arguments_that_are_arrays_or_texts_are_named() -> None:
    optimizer = GPUCB(Space({"x": Float(0, 1)}), seed=0)
    with pytest.raises(ValueError, match="exceedance must be"):
        GPUCB(Space({"x": Float(0, 1)}), exceedance=np.array([1.0, 2.0]))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="constraints must be a sequence of numbers"):
        optimizer.tell({"x": 0.5}, 1.0, constraints=np.array(1.0))  # type: ignore[arg-type]
    numbers: dict[str, Any] = {"t": 20, "posterior_std": 0.01, "noise_std": 0.01, "dim": 4, "delta": 0.1}
    assert instantaneous_regret_bound(**numbers).value > 0.0
    for name, value in [(name, value) for name in numbers for value in ("1", None, math.nan, math.inf, True)]:
        with pytest.raises(ValueError, match=f"{name} must be"):
            instantaneous_regret_bound(**numbers | {name: value})


@pytest.mark.parametrize(
    ("beta", "rule"),
    [
        ("theory", UCBbr(0.01)),
        ("matched", UCBbr(0.01)),
        (4.0, UCBbr(0.01)),
        ("calibrated", UCBbr(0.01)),
        *(
            ("calibrated", rule)
            for rule in (
                OptimalityGap(0.01),
                OptimalityGap(0.01, beta="grid"),
                OptimalityGap(0.01, beta=4.0),
                PRB(0.01),
                DeltaCB(0.01),
                DeltaES(0.01),
                AcquisitionThreshold(),
                ExpectedRegret(0.01),
                CostAware(0.01, cost=lambda params: 1.0),
            )
        ),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Rule) else str(each),
)
def test_values_that_differ_by_rounding_alone_end_no_search_by_any_rule(beta: Any, rule: Rule) -> None:
    optimizer = GPUCB(SQUARE, direction="minimize", seed=0, beta=beta)
    for _ in range(12):
        params = optimizer.ask(epsilon=0.01)
        optimizer.tell(params, 1.0 + 1e-11 * ((params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2))
        certificate = optimizer.certificate(rule)
        assert not certificate.stop
        assert certificate.bound == math.inf
