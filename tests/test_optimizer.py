"""Ask, tell and certificate: what is asked, what is remembered, and that nothing depends on how it came about."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import (
    GPUCB,
    Categorical,
    Certificate,
    CostAware,
    Float,
    Int,
    Matern52,
    Observation,
    OptimalityGap,
    Space,
    SquaredExponential,
    UCBbr,
    minimize,
)
from regretstop.bound import ledger_for
from regretstop.gap import certified_gap
from regretstop.model import GaussianProcess
from tests import oracle
from tests.changes import changed
from tests.effort import examples
from tests.histories import FINITE, INFINITE, SPACES, History, declared, histories, options_of, random_history

few = examples(15)
MIXED = Space(
    {
        "lr": Float(1e-4, 1.0, log=True),
        "layers": Int(1, 6),
        "momentum": Float(0.0, 0.9, step=0.1),
        "act": Categorical(["relu", "gelu", None]),
    }
)


def bowl(params: dict[str, Any]) -> float:
    """A smooth function of the mixed space with its minimum 0 at lr = 0.01, 3 layers, momentum 0.6, gelu."""
    value = (math.log10(params["lr"]) + 2.0) ** 2 / 4.0 + (params["layers"] - 3) ** 2 / 10.0
    return value + (params["momentum"] - 0.6) ** 2 + 0.3 * (params["act"] != "gelu")


def run(optimizer: GPUCB, f: Any, n: int) -> list[dict[str, Any]]:
    asked: list[dict[str, Any]] = []
    for _ in range(n):
        params = optimizer.ask()
        optimizer.tell(params, f(params))
        asked.append(params)
    return asked


# ---- What is asked -----------------------------------------------------------------------------------------------


def test_every_point_asked_for_is_valid() -> None:
    for params in run(GPUCB(MIXED, seed=1), bowl, 15):
        assert MIXED.contains(params)
        assert isinstance(params["layers"], int)
        assert isinstance(params["lr"], float)


def test_the_first_points_fill_the_space() -> None:
    optimizer = GPUCB(Space({"x": Float(0, 1), "y": Float(0, 1)}), n_initial=8, seed=3)
    asked = [optimizer.ask() for _ in range(8)]
    # Eight points of a scrambled Sobol sequence: one in each eighth of either axis.
    for name in ("x", "y"):
        assert sorted(math.floor(8 * p[name]) for p in asked) == list(range(8))


@pytest.mark.parametrize("beta", [4.0, 0.0, "theory", "matched"])
@pytest.mark.parametrize("name", FINITE)
def test_ask_maximises_the_upper_confidence_bound(beta: Any, name: str) -> None:
    """Against every point of the space, with the posterior and the width computed here."""
    history = random_history(FINITE[name], 7, seed=5)
    space = history.space
    optimizer = history.told(beta=beta, n_initial=1, **declared(space))
    everything = space.enumerate()
    mean, std = oracle.posterior(
        np.array([space.encode(p) for p in history.params]),
        np.array(history.values),
        everything,
        correlation=oracle.matern52,
        lengthscales=np.full(space.dim, 0.3),
        categories=space.categories,
        noise_std=0.1,
    )
    if beta == "theory":
        sqrt_beta = math.sqrt(2.0 * math.log(4.0 * (math.pi**2 * 8**2 / 6.0) * space.size / 0.05))
    elif beta == "matched":
        sqrt_beta = float(optimizer.certificate(OptimalityGap(1.0, delta=0.05, beta="grid")).terms["sqrt_alpha"])
    else:
        sqrt_beta = math.sqrt(beta)
    ucb = mean + sqrt_beta * std
    asked = int(np.flatnonzero(np.all(np.isclose(everything, space.encode(optimizer.ask())), axis=1))[0])
    assert ucb[asked] == pytest.approx(float(np.max(ucb)), rel=1e-9)


def test_theory_is_the_papers_width_on_a_continuous_axis() -> None:
    """A wider β explores: with the theory's, the asked deviation is at least that of √β = 1."""
    history = random_history(INFINITE["a line"], 6, seed=2)
    stds: list[float] = []
    for beta in (1.0, "theory"):
        optimizer = history.told(beta=beta, n_initial=1, **declared(history.space, lengthscale=0.1))
        posterior = optimizer.snapshot().model.posteriors[0]
        stds.append(float(posterior.mean_std(history.space.encode(optimizer.ask())[None])[1][0]))
    assert stds[0] <= stds[1]


def test_pending_points_keep_the_next_ones_away() -> None:
    history = random_history(INFINITE["a square"], 8, seed=4)
    optimizer = history.told(**declared(history.space, noise_std=0.01))
    batch = np.array([history.space.encode(optimizer.ask()) for _ in range(6)])
    distances = np.linalg.norm(batch[:, None] - batch[None], axis=2)[np.triu_indices(6, k=1)]
    assert distances.min() > 0.02


def test_a_batch_of_initial_points_has_no_repeats() -> None:
    optimizer = GPUCB(Space({"x": Int(1, 6)}), n_initial=6, seed=0)
    assert sorted(optimizer.ask()["x"] for _ in range(6)) == [1, 2, 3, 4, 5, 6]


def test_a_finite_space_is_visited_before_anything_is_repeated() -> None:
    space = Space({"x": Int(1, 3), "y": Categorical(["a", "b"])})
    asked = run(
        GPUCB(space, seed=0, surrogate=GaussianProcess(noise_std=0.0), beta=100.0),
        lambda p: p["x"] + (p["y"] == "a"),
        6,
    )
    assert len({(p["x"], p["y"]) for p in asked}) == 6


def test_certificates_ignore_pending_points() -> None:
    history = random_history(SPACES["a table"], 8, seed=0)
    optimizer = history.told(beta="matched", **declared(history.space))
    before = optimizer.certificate(OptimalityGap(0.5, beta="grid"))
    for _ in range(3):
        optimizer.ask()
    assert optimizer.certificate(OptimalityGap(0.5, beta="grid")) == before


# ---- What is remembered ------------------------------------------------------------------------------------------


def test_history_is_in_order_and_complete() -> None:
    optimizer = GPUCB(MIXED, seed=0)
    first = optimizer.ask()
    optimizer.tell({"lr": 0.5, "layers": 2, "momentum": 0.0, "act": None}, 3.0)  # never asked for
    optimizer.tell(first, None)
    second = optimizer.ask()
    optimizer.tell(second, math.nan)
    assert [o.number for o in optimizer.history] == [0, 1, 2]
    assert [o.value for o in optimizer.history[:2]] == [3.0, None]
    assert dict(optimizer.history[1].params) == first
    assert optimizer.certificate(UCBbr(0.1)).n_observations == 1
    assert optimizer.certificate(UCBbr(0.1)).n_excluded == 2


def test_what_is_told_is_copied() -> None:
    optimizer = GPUCB(Space({"x": Int(0, 9)}), seed=0)
    params = {"x": 3}
    optimizer.tell(params, 1.0)
    params["x"] = 4
    assert optimizer.history[0].params == {"x": 3}


def test_failures_do_not_change_what_is_known() -> None:
    """A failed evaluation moves the search on, and leaves the certificate's numbers as they were."""
    history = random_history(SPACES["a square"], 8, seed=1)
    optimizer = history.told(beta="theory", **declared(history.space))
    before = optimizer.certificate(UCBbr(0.5))
    for value in (None, math.nan, math.inf, -math.inf):
        optimizer.tell(optimizer.ask(), value)
    assert optimizer.certificate(UCBbr(0.5)) == changed(before, n_excluded=4)


def test_points_outside_the_range_count_as_data_and_are_never_recommended() -> None:
    space = Space({"x": Float(0, 1)})
    optimizer = GPUCB(space, seed=0, **declared(space))
    for x, value in ((1.2, 5.0), (0.2, 0.1), (0.5, 0.3), (0.9, 0.2)):
        optimizer.tell({"x": x}, value)
    certificate = optimizer.certificate(OptimalityGap(0.5, beta="grid"))
    assert certificate.n_observations == 4
    assert certificate.incumbent in (1, 2, 3)
    assert certificate.incumbent_value == optimizer.history[certificate.incumbent].value
    # The high value just outside is known about: it raises what the edge may hold.
    without = GPUCB(space, seed=0, **declared(space))
    for x, value in ((0.2, 0.1), (0.5, 0.3), (0.9, 0.2)):
        without.tell({"x": x}, value)
    edge = np.array([[1.0]])
    means = [o.snapshot().model.posteriors[0].mean_std(edge)[0][0] for o in (optimizer, without)]
    assert means[0] > means[1] + 0.5


def test_points_of_another_space_are_counted_only() -> None:
    optimizer = random_history(SPACES["a square"], 8, seed=1).told()
    before = optimizer.certificate(OptimalityGap(0.5, beta="grid"))
    optimizer.tell({"x": 0.5}, 3.0)  # y is missing
    optimizer.tell({"x": 0.5, "y": -1.0}, 3.0)  # has no logarithm
    assert optimizer.certificate(OptimalityGap(0.5, beta="grid")) == changed(before, n_excluded=2)
    optimizer.ask()


def test_the_framework_may_hold_the_history() -> None:
    history = random_history(SPACES["a table"], 9, seed=3)
    told = history.told(beta="matched", **declared(history.space))
    taken = GPUCB(history.space, seed=0, beta="matched", **declared(history.space))
    observations = [
        Observation(p, v, number=10 * i) for i, (p, v) in enumerate(zip(history.params, history.values, strict=True))
    ]
    taken.replace_history(observations)
    one, other = told.certificate(UCBbr(0.5)), taken.certificate(UCBbr(0.5))
    assert one.incumbent is not None
    assert one.optimality_gap_incumbent is not None
    renamed = changed(one, incumbent=10 * one.incumbent, optimality_gap_incumbent=10 * one.optimality_gap_incumbent)
    assert other == renamed
    assert taken.history == tuple(observations)
    assert told.ask() == taken.ask()


def test_a_replaced_history_forgets_the_old_one() -> None:
    first, second = (random_history(SPACES["a table"], 9, seed=s) for s in (3, 4))
    optimizer = first.told(**declared(first.space))
    optimizer.certificate(OptimalityGap(0.5, beta="grid"))
    optimizer.replace_history(second.told().history)
    assert optimizer.certificate(OptimalityGap(0.5, beta="grid")) == second.told(**declared(first.space)).certificate(
        OptimalityGap(0.5, beta="grid")
    )


def test_pending_points_of_a_framework() -> None:
    history = random_history(INFINITE["a square"], 8, seed=4)
    one = history.told(**declared(history.space))
    asked = [one.ask(), one.ask()]
    other = GPUCB(history.space, seed=0, **declared(history.space))
    other.replace_history(history.told().history, pending=asked[:1])
    assert other.ask() == asked[1]
    other.replace_history(history.told().history, pending=[{"unknown": 1}])
    assert other.ask() == asked[0]


# ---- Determinism -------------------------------------------------------------------------------------------------


@few
@given(histories(), st.sampled_from([4.0, "theory", "matched"]), st.sampled_from(["fixed", "map", "posterior"]))
def test_a_restarted_process_goes_on_as_the_first_would_have(history: History, beta: Any, treatment: str) -> None:
    """Bit for bit, whether the model was fitted at each step or only now."""
    options = {"beta": beta} | options_of(treatment, history.space)
    rule = UCBbr(0.5)
    steps = GPUCB(history.space, seed=0, **options)
    for params, value in zip(history.params, history.values, strict=True):
        steps.ask()
        steps.certificate(rule)
        steps.tell(params, value)
    fresh = GPUCB(history.space, seed=0, **options)
    fresh.replace_history(steps.history)
    steps.replace_history(steps.history)  # what was asked for above and never told is no longer pending
    assert fresh.certificate(rule) == steps.certificate(rule)
    assert fresh.ask() == steps.ask()


def test_the_same_seed_gives_the_same_run() -> None:
    runs = [run(GPUCB(MIXED, seed=seed), bowl, 10) for seed in (7, 7, 8)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_without_a_seed_runs_differ() -> None:
    assert len({str(run(GPUCB(MIXED), bowl, 3)) for _ in range(3)}) == 3


def test_it_pickles() -> None:
    optimizer = GPUCB(MIXED, seed=7, beta="matched")
    run(optimizer, bowl, 9)
    copies = [pickle.loads(pickle.dumps(optimizer)) for _ in range(2)]
    assert copies[0].certificate(UCBbr(0.1)) == optimizer.certificate(UCBbr(0.1))
    assert copies[0].ask() == copies[1].ask() == optimizer.ask()


def test_one_history_is_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[int] = []
    fit = GaussianProcess.fit

    def counted(self: GaussianProcess, points: Any, values: Any, **space: Any) -> Any:
        fits.append(len(values))
        return fit(self, points, values, **space)

    monkeypatch.setattr(GaussianProcess, "fit", counted)
    history = random_history(SPACES["a table"], 8, seed=0)
    optimizer = history.told(beta="matched")
    optimizer.ask()
    for rule in (UCBbr(0.1), OptimalityGap(0.1, beta="grid"), OptimalityGap(0.2, beta="grid")):
        optimizer.certificate(rule)
    optimizer.replace_history(optimizer.history)
    optimizer.certificate(UCBbr(0.1))
    assert fits == [8]


# ---- It finds what it looks for ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_finds_the_minimum_of_a_mixed_space(seed: int) -> None:
    optimizer = GPUCB(MIXED, direction="minimize", seed=seed)
    best = min(run(optimizer, bowl, 35), key=bowl)
    assert bowl(best) < 0.02
    assert best["act"] == "gelu"


def test_minimise_and_maximise_of_the_negative_are_the_same_run() -> None:
    down = run(GPUCB(MIXED, direction="minimize", seed=3), bowl, 15)
    up = run(GPUCB(MIXED, direction="maximize", seed=3), lambda p: -bowl(p), 15)
    assert down == up


def test_minimize_stops_with_a_certificate() -> None:
    space = Space({"x": Int(0, 20)})

    def f(params: dict[str, Any]) -> float:
        return math.cos(params["x"] / 3.0)

    seen: list[tuple[Observation, Certificate]] = []
    result = minimize(
        f,
        space,
        rule=OptimalityGap(0.05, beta="grid"),
        max_trials=30,
        seed=0,
        beta="matched",
        surrogate=GaussianProcess(noise_std=0.0),
        callback=lambda observation, certificate: seen.append((observation, certificate)),
    )
    assert result.certificate.stop
    assert len(result.history) == len(result.certificates) == len(seen) < 30
    assert seen[-1] == (result.history[-1], result.certificate)
    assert not any(c.stop for c in result.certificates[:-1])
    assert result.certificate.incumbent is not None
    assert result.params == result.history[result.certificate.incumbent].params
    assert result.value == f(dict(result.params))
    assert result.value - min(f({"x": x}) for x in range(21)) <= 0.05


def test_minimize_without_a_certificate_returns_the_best_trial() -> None:
    result = minimize(bowl, MIXED, rule=UCBbr(1e-9), max_trials=7, seed=0)
    assert not result.certificate.stop
    assert len(result.history) == 7
    assert result.value == min(o.value for o in result.history if o.value is not None) == bowl(dict(result.params))


def test_minimize_goes_on_after_failures() -> None:
    values = iter([math.nan, math.inf, 1.0, 0.5, math.nan])
    result = minimize(lambda p: next(values), MIXED, rule=UCBbr(0.1), max_trials=5, seed=0)
    assert result.value == 0.5
    assert result.certificate.n_excluded == 3


def test_minimize_reports_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="none of 3 evaluations gave a finite value"):
        minimize(lambda p: math.nan, MIXED, rule=UCBbr(0.1), max_trials=3, seed=0)
    with pytest.raises(ValueError, match=r"max_trials must be .*, got 0"):
        minimize(bowl, MIXED, rule=UCBbr(0.1), max_trials=0)
    with pytest.raises(ZeroDivisionError):
        minimize(lambda p: 1 / 0, MIXED, rule=UCBbr(0.1), max_trials=3)


# ---- Arguments ---------------------------------------------------------------------------------------------------


FIXED_KERNEL = Matern52(lengthscales=[0.3], outputscale=1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "up"}, "direction must be 'maximize' or 'minimize', got 'up'"),
        ({"beta": "best"}, "beta must be .*, got 'best'"),
        ({"beta": -1.0}, r"beta must be .*, got -1\.0"),
        ({"beta": math.nan}, "beta must be .*, got nan"),
        ({"beta": math.inf}, "beta must be .*, got inf"),
        ({"beta": True}, "beta must be .*, got True"),
        ({"n_initial": 0}, "n_initial must be .*, got 0"),
        ({"n_initial": 2.5}, r"n_initial must be .*, got 2\.5"),
        ({"surrogate": "native"}, "surrogate must have guarantee, n_estimated and fit, got 'native'"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GPUCB(Space({"x": Float(0, 1)}), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mean": math.nan}, "mean must be a finite number, got nan"),
        ({"noise_std": -0.1}, r"noise_std must be .*, got -0\.1"),
        ({"noise_std": math.nan}, "noise_std must be .*, got nan"),
        ({"noise_std": "known"}, "noise_std must be .*, got 'known'"),
        ({"hyperparameters": "guess"}, "hyperparameters must be .*, got 'guess'"),
        ({"hyperparameters": "fixed"}, "hyperparameters='fixed' needs a kernel with lengthscales and outputscale"),
        ({"hyperparameters": "fixed", "kernel": FIXED_KERNEL}, "and noise_std as a number"),
        ({"kernel": FIXED_KERNEL}, "estimates the kernel's lengthscales and outputscale"),
        ({"kernel": SquaredExponential(outputscale=2.0)}, "estimates the kernel's outputscale"),
        ({"n_samples": 0}, "n_samples must be .*, got 0"),
    ],
)
def test_bad_arguments_of_the_model_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GaussianProcess(**options)


def test_lengthscales_of_another_space_are_reported_at_once() -> None:
    kernel = Matern52(lengthscales=[0.3, 0.3], outputscale=1.0)
    known = GaussianProcess(hyperparameters="fixed", noise_std=0.1, kernel=kernel)
    with pytest.raises(ValueError, match=r"lengthscales must have one number per free axis \(1\)"):
        GPUCB(Space({"x": Float(0, 1)}), surrogate=known)


@pytest.mark.parametrize(("name", "value"), [("seed", -1), ("seed", "0"), ("seed", 1.5)])
def test_a_bad_argument_is_named_before_any_work(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be.*{value!r}"):
        GPUCB(Space({"x": Float(0, 1)}), **{name: value})


def test_a_space_is_asked_for() -> None:
    with pytest.raises(ValueError, match="space must be a Space"):
        GPUCB({"x": Float(0, 1)})  # type: ignore[arg-type]


def test_numpy_scalars_are_numbers() -> None:
    optimizer = GPUCB(
        Space({"x": Float(0, 1)}),
        beta=np.float32(4.0),
        surrogate=GaussianProcess(noise_std=np.float64(0.1)),
        seed=np.int64(3),
    )
    optimizer.tell(optimizer.ask(), np.float32(0.5))
    assert optimizer.certificate(UCBbr(np.float32(0.5), np.float64(0.1))).epsilon == 0.5


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Observation({"x": 1.0}, math.nan, 3), True),
        (Observation({"x": np.float64(1.0)}, math.nan, 3), True),
        (Observation({"x": 1.0}, 0.0, 3), False),
        (Observation({"x": 1.0}, None, 3), False),
        (Observation({"x": 2.0}, math.nan, 3), False),
        (Observation({"x": 1.0, "y": 1.0}, math.nan, 3), False),
        (Observation({"x": 1.0}, math.nan, 4), False),
        (Observation({"x": np.array([1.0, 1.0])}, math.nan, 3), False),
    ],
)
def test_when_observations_are_the_same(other, same):
    assert Observation({"x": 1.0}, math.nan, 3).same_as(other) is same


# ---- Samples of the hyperparameters ------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [4.0, "theory"])
@pytest.mark.parametrize("waiting", [{}, {"value": None}, {"value": math.nan}])
def test_samples_change_the_certificate_and_not_the_search(beta: Any, waiting: dict[str, Any]) -> None:
    """Also beside points that are pending, that were pruned and that failed."""
    history = random_history(SPACES["a square"], 11, 2)
    sampled, at_mode = (
        history.told(beta=beta, surrogate=GaussianProcess(hyperparameters=name)) for name in ("posterior", "map")
    )
    for optimizer in (sampled, at_mode):
        if waiting:
            optimizer.tell({"x": 0.7, "y": 0.1}, waiting["value"])
        else:
            optimizer.ask()
    assert sampled.ask() == at_mode.ask()
    assert sampled.certificate(UCBbr(1.0)).optimality_gap > at_mode.certificate(UCBbr(1.0)).optimality_gap


def test_matched_asks_where_the_worst_sample_keeps_the_gap_open() -> None:
    optimizer = random_history(SPACES["a square"], 11, 2).told(
        beta="matched", surrogate=GaussianProcess(hyperparameters="posterior")
    )
    snapshot = optimizer.snapshot()
    asked = snapshot.space.encode(optimizer.ask())
    gap = certified_gap(snapshot, ledger_for(snapshot.space, 0.05, 10.0))
    assert gap is not None
    assert gap.open_point is not None
    assert asked == pytest.approx(gap.open_point, abs=1e-9)


# ---- What others do with what they are given ---------------------------------------------------------------------


def test_what_was_asked_is_recorded_although_the_objective_takes_it_apart() -> None:
    def objective(params: dict[str, Any]) -> float:
        return (params.pop("x") - 0.3) ** 2

    space, rule = Space({"x": Float(0.0, 1.0)}), UCBbr(0.01)
    found = minimize(objective, space, rule=rule, max_trials=30, seed=0)
    kept = minimize(lambda p: (p["x"] - 0.3) ** 2, space, rule=rule, max_trials=30, seed=0)
    assert found.history == kept.history
    optimizer = GPUCB(space, seed=0)
    params = optimizer.ask()
    x = params.pop("x")
    optimizer.tell({"x": x}, 1.0)
    assert optimizer.history[0].span is not None  # it was known to be under way


def test_rules_whose_functions_look_alike_are_asked_each_for_itself() -> None:
    class Cost:
        def __init__(self, each: float) -> None:
            self.each = each

        def __repr__(self) -> str:
            return "Cost()"

        def __call__(self, params: Any) -> float:
            return self.each

    optimizer = GPUCB(Space({"x": Float(0.0, 1.0)}), direction="minimize", seed=0)
    for _ in range(8):
        params = optimizer.ask()
        optimizer.tell(params, (params["x"] - 0.3) ** 2)
    for _ in range(2):
        assert [optimizer.certificate(CostAware(1e-4, cost=Cost(c))).stop for c in (1e3, 1e-6)] == [True, False]
        # A lambda is known by its address, which the next one may have.
        assert [optimizer.certificate(CostAware(1e-4, cost=lambda _, c=c: c)).stop for c in (1e3, 1e-6)] == [
            True,
            False,
        ]


def test_a_search_can_be_pickled_whatever_its_rules_hold() -> None:
    optimizer, rule = (
        GPUCB(Space({"x": Float(0.0, 1.0)}), direction="minimize", seed=0),
        CostAware(1.0, cost=lambda _: 1.0),
    )
    for _ in range(8):
        params = optimizer.ask()
        optimizer.tell(params, (params["x"] - 0.3) ** 2)
    said = optimizer.certificate(rule)
    again = pickle.loads(pickle.dumps(optimizer))
    assert again.certificate(rule) == said
    assert again.ask() == optimizer.ask()


def test_what_is_told_after_a_history_of_others_has_a_number_of_its_own() -> None:
    optimizer = GPUCB(Space({"x": Float(0.0, 1.0)}), seed=0)
    optimizer.replace_history([Observation({"x": i / 9}, float(i), number, ended) for i, number, ended in
                               [(0, 4, 20.0), (1, 9, 30.0), (2, 7, 10.0)]])  # fmt: skip
    optimizer.tell({"x": 0.5}, 1.0)
    optimizer.tell({"x": 0.6}, 1.0)
    assert [(each.number, each.ended) for each in optimizer.history[3:]] == [(10, 30.0), (11, 30.0)]


@pytest.mark.parametrize("far", [1e7, 1e160, -1e300])
def test_a_point_that_is_told_from_far_away_ends_no_search(far: float) -> None:
    optimizer = GPUCB(Space({"x": Float(0.0, 1.0)}), seed=0)
    for i, value in enumerate([0.1, 0.4, 0.2, 0.9, 0.3, 0.5, 0.45, 0.7]):
        optimizer.tell({"x": i / 7}, value)
    optimizer.tell({"x": far}, 0.6)
    assert math.isfinite(optimizer.certificate(UCBbr(0.1)).bound)
    assert 0.0 <= optimizer.ask()["x"] <= 1.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GPUCB(MIXED).tell({}, 1.0, feasible="no"), "feasible must be True or False, got 'no'"),
        (lambda: GPUCB(MIXED).tell({}, 1.0, constraints=0.5), "constraints must be a sequence of numbers, got 0.5"),
        (lambda: GPUCB(MIXED).certificate(None), "rule must be a stopping rule .*, got None"),
        (lambda: GPUCB(MIXED).certificate(UCBbr), "rule must be a stopping rule .*, got <class"),
        (lambda: minimize(sum, MIXED, rule=None, max_trials=3), "rule must be a stopping rule .*, got None"),
        (
            lambda: minimize(sum, MIXED, rule=UCBbr(0.1), max_trials=3, direction="maximize"),
            "direction must be left out of minimize, got 'maximize'",
        ),
        (lambda: Float(1e-3, 1.0, log="no"), "log must be True or False, got 'no'"),
        (lambda: Int(1, 9, log=1), "log must be True or False, got 1"),
        (lambda: Categorical(3), "choices must be a collection of values, got choices=3"),
        (lambda: Space([Float(0.0, 1.0)]), "parameters must map names to Float, Int or Categorical"),
        (lambda: Matern52(lengthscales=0.3), "lengthscales must be a sequence of numbers, got 0.3"),
        (lambda: GaussianProcess(kernel="matern"), "kernel must be a kernel such as .*, got 'matern'"),
        (lambda: GaussianProcess(kernel=Matern52), "kernel must be a kernel such as .*, got <class"),
        (lambda: GaussianProcess(model_check="no"), "model_check must be True or False, got 'no'"),
        (lambda: UCBbr(0.1, a=1.0, b=1.0, side=None), "side must be positive and finite, got None"),
        (lambda: UCBbr(0.1, a="1", b=1.0), "a must be positive and finite, got '1'"),
        (lambda: UCBbr(10**400), "epsilon must be a positive number, got 1000"),
        (lambda: UCBbr(0.1, delta=10**400), r"delta must be a number in \(0, 1\), got 1000"),
        (
            lambda: GaussianProcess(noise_std=10**400),
            "noise_std must be 'learned' or a finite number of at least 0, got",
        ),
    ],
)
def test_what_is_of_no_use_is_named(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        make()
