"""What a bound is made of: parts that add up to it, and are what they are called."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import PRB, Certificate, GaussianProcess, OptimalityGap, Rule, UCBbr, minimize
from regretstop.plotting import (
    PARTS,
    bound_parts_of,
    draw_matplotlib,
    draw_plotly,
    parts_of,
    plot_bound_parts,
)
from regretstop.plotting import matplotlib as in_matplotlib
from tests.histories import FINITE, INFINITE, SPACES, random_history

RULES = [UCBbr(0.1), OptimalityGap(0.1, beta="grid"), OptimalityGap(0.1, beta=4.0)]


def certified(rule: Rule, space: str = "a square", seed: int = 0, **options: object) -> Certificate:
    history = random_history(SPACES[space], 12, seed)
    return history.told(**{"beta": 4.0} | options).certificate(rule)


@given(
    st.sampled_from(RULES), st.sampled_from([*INFINITE, "integers and categories"]), st.integers(0, 99), st.booleans()
)
def test_the_parts_are_not_negative_and_add_up_to_the_bound(rule: Rule, space: str, seed: int, sampled: bool) -> None:
    surrogate = GaussianProcess(hyperparameters="posterior" if sampled else "map", n_samples=2)
    certificate = certified(rule, space, seed, surrogate=surrogate)
    parts = parts_of(certificate)
    if not math.isfinite(certificate.bound):
        assert parts is None
        return
    assert parts is not None
    assert list(parts) == list(PARTS)[:4]
    assert min(parts.values()) >= 0.0
    assert math.fsum(parts.values()) == pytest.approx(certificate.bound)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_without_noise_none_of_the_bound_is_noise(rule: Rule) -> None:
    """Of an UCBbr bound the rest is then (√β + √η) σ(x), and the grid's t^(−s)."""
    certificate = certified(rule, surrogate=GaussianProcess(noise_std=0.0), beta="theory")
    parts = parts_of(certificate)
    assert parts is not None
    assert parts["noise"] == 0.0
    terms = {name: float(value) for name, value in certificate.terms.items()}
    assert parts["confidence"] == pytest.approx(terms["sqrt_eta"] * terms["posterior_std"])
    if isinstance(rule, UCBbr):
        explored = parts["exploration"] - (certificate.bound - terms["query_bound"])
        assert explored == pytest.approx(terms["sqrt_beta"] * terms["posterior_std"])
        assert parts["grid"] == pytest.approx(terms["prior_std"] * terms["t"] ** -terms["s"])


def test_a_finite_space_has_no_grid() -> None:
    parts = parts_of(certified(OptimalityGap(0.1, beta="grid"), "a table"))
    assert parts is not None
    assert parts["grid"] == 0.0


def test_a_search_of_noise_alone_is_held_up_by_noise() -> None:
    """At the floor σ(x) = σ_floor, where the paper's bound is (√α + √η) σ_floor + t^(−s)."""
    certificate = certified(UCBbr(0.1))
    floor = float(certificate.terms["std_floor"])
    terms = {**certificate.terms, "posterior_std": floor, "grid_error": 0.0}
    widths = float(terms["sqrt_alpha"]) + float(terms["sqrt_eta"])
    at_floor = replace(certificate, claim=replace(certificate.claim, bound=widths * floor, terms=terms))
    assert parts_of(at_floor) == {
        "exploration": 0.0,
        "confidence": 0.0,
        "noise": pytest.approx(widths * floor),
        "grid": 0.0,
    }


def test_what_does_not_say_what_it_is_made_of() -> None:
    assert parts_of(certified(PRB(0.1))) is None
    assert parts_of(UCBbr(0.1).undecided("too few")) is None
    with pytest.raises(ValueError, match="no certificate of PRB says what its bound is made of"):
        bound_parts_of([0], [certified(PRB(0.1))])
    with pytest.raises(ValueError, match="no certificate says"):
        bound_parts_of([], [])


def test_a_counted_bound_is_hills_and_the_doubt_in_estimated_hyperparameters() -> None:
    hills = certified(UCBbr(1e-3), beta="calibrated")
    assert parts_of(hills) == {"hills": hills.bound, "doubt": 0.0}
    terms = {"counted": 0.05, "two_deviations": 0.3}
    doubted = replace(hills, claim=replace(hills.claim, bound=0.3, terms=terms))
    assert parts_of(doubted) == {"hills": 0.05, "doubt": pytest.approx(0.25)}
    passed = replace(hills, claim=replace(hills.claim, bound=0.05, terms={**terms, "two_deviations": 0.02}))
    assert parts_of(passed) == {"hills": 0.05, "doubt": 0.0}
    least = replace(
        doubted, claim=replace(doubted.claim, bound=0.02, maximum="declared")
    )  # up to the best possible value
    assert parts_of(least) == {"ceiling": 0.02}
    said = [None, hills, doubted, certified(RULES[0]), least]
    both = bound_parts_of(range(5), said)
    assert set(both.parts) == set(PARTS)
    assert [math.fsum(sizes) for sizes in list(zip(*both.parts.values(), strict=True))[1:]] == pytest.approx(
        [hills.bound, 0.3, certified(RULES[0]).bound, 0.02]
    )
    assert len(draw_plotly.bound_parts(both).data) == len(draw_matplotlib.bound_parts(both).containers) == len(PARTS)


def test_both_backends_draw_shares_of_the_bound() -> None:
    f, space = lambda p: (p["x"] - 3.0) ** 2, FINITE["twelve integers"]
    result = minimize(f, space, rule=UCBbr(0.01), max_trials=9, seed=0, beta=4.0)
    figure, ax = plot_bound_parts(result), in_matplotlib.plot_bound_parts(result)
    stacked = [math.fsum(trace.y[k] for trace in figure.data) for k in range(len(figure.data[0].y))]
    known = [total for total in stacked if math.isfinite(total)]
    assert known == pytest.approx([1.0] * len(known))
    assert len(known) > 0
    drawn = [[bar.get_height() for bar in container] for container in ax.containers]
    for trace, heights in zip(figure.data, drawn, strict=True):
        assert [0.0 if math.isnan(y) else y for y in trace.y] == pytest.approx(heights)
    ax.figure.canvas.draw()
    parts = bound_parts_of([3, 5], [None, result.certificates[-1]])
    assert draw_plotly.bound_parts(parts, "dark").data[0].x == (3, 5)
    assert draw_matplotlib.bound_parts(parts, theme="dark").get_xlabel() == "trial"
