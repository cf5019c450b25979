"""Searches from end to end: certificates, bad data, and a framework around it."""

import logging
import math
import pickle
from typing import Any

import numpy as np
import pytest
from gpytorch.kernels import MaternKernel, RBFKernel, RQKernel, ScaleKernel
from regretstop_gpytorch import GPyTorchSurrogate

from regretstop import GPUCB, Categorical, Float, Int, OptimalityGap, Space, UCBbr, minimize
from tests.histories import INFINITE, random_history
from tests.integrations.gpytorch.cases import ExactGP, exactly, scaled
from tests.logs import captured

LINE = Space({"x": Float(0, 1)})
TABLE = Space({"x": Int(0, 6), "c": Categorical(["a", "b", "c"])})


def branin(params: dict[str, Any]) -> float:
    """Branin's function; its least value is 0.397887."""
    x, y = params["x"], params["y"]
    bowl = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def entry(params: dict[str, Any]) -> float:
    """A table with its least value 0 at x = 2, "b"."""
    return (params["x"] - 2) ** 2 / 10.0 + {"a": 0.4, "b": 0.0, "c": 0.9}[params["c"]]


def told(values: Any, points: Any, surrogate: GPyTorchSurrogate | None = None, **options: Any) -> GPUCB:
    optimizer = GPUCB(LINE, seed=0, surrogate=surrogate or GPyTorchSurrogate(), **options)
    for x, value in zip(points, values, strict=True):
        optimizer.tell({"x": float(x)}, value)
    return optimizer


# ---- Certificates ------------------------------------------------------------------------------------------------


def test_branin_stops_and_the_bound_is_true() -> None:
    space = Space({"x": Float(-5.0, 10.0), "y": Float(0.0, 15.0)})
    result = minimize(branin, space, rule=UCBbr(epsilon=0.5), max_trials=60, seed=0, surrogate=GPyTorchSurrogate())
    assert result.certificate.stop
    assert result.value - 0.397887 <= result.certificate.bound
    assert result.certificate.guarantee == "model"
    assert result.certificate.maximum == "counted"


def test_the_certificate_is_that_of_the_native_surrogate() -> None:
    """For the default kernel, with the hyperparameters that either finds: they stop within 2 % of one another."""
    history = random_history(INFINITE["a line and categories"], 30, seed=1)
    for rule in (UCBbr(0.1), OptimalityGap(0.1, beta="grid")):
        one, other = (history.told(surrogate=s).certificate(rule) for s in (None, GPyTorchSurrogate()))
        assert other.bound == pytest.approx(one.bound, rel=0.02)
        assert (other.incumbent, other.guarantee, other.n_observations) == (
            one.incumbent,
            one.guarantee,
            one.n_observations,
        )


@pytest.mark.parametrize("beta", ["theory", "matched"])
@pytest.mark.parametrize("known", [True, False])
def test_a_finite_space_is_certified_with_any_kernel(known: bool, beta: Any) -> None:
    kernel = ScaleKernel(MaternKernel(nu=2.5 if known else 1.5))
    surrogate = GPyTorchSurrogate(kernel, noise_std=0.0)
    rule = OptimalityGap(epsilon=0.2, delta=0.1, beta="grid")
    result = minimize(entry, TABLE, rule=rule, max_trials=21, seed=0, surrogate=surrogate, beta=beta)
    assert result.certificate.stop
    assert result.certificate.guarantee == "model"
    assert result.value <= result.certificate.bound < 0.2
    assert result.certificate.maximum == "enumerated"


def test_a_finite_space_with_a_declared_kernel_is_a_theorem() -> None:
    surrogate = GPyTorchSurrogate(
        scaled("rbf", 4, lengthscales=[0.5, 1.5, 1.5, 1.5]), noise_std=1e-3, hyperparameters="fixed"
    )
    rule = OptimalityGap(epsilon=0.2, beta="grid")
    result = minimize(entry, TABLE, rule=rule, max_trials=21, seed=0, surrogate=surrogate)
    assert result.certificate.stop
    assert result.certificate.guarantee == "theorem"
    assert result.value <= result.certificate.bound


@pytest.mark.parametrize("beta", [4.0, "theory", "matched"])
def test_an_unknown_slope_is_said_and_the_search_goes_on(beta: Any) -> None:
    points = np.linspace(0.05, 0.95, 9)
    surrogate = GPyTorchSurrogate(ScaleKernel(RQKernel()))
    optimizer = told(np.sin(5 * points), points, surrogate, beta=beta)
    for rule in (UCBbr(0.1), OptimalityGap(0.1, beta="grid")):
        certificate = optimizer.certificate(rule)
        assert certificate.bound == math.inf
        assert "slope of draws of this kernel is not known" in certificate.reason
    assert math.isfinite(optimizer.certificate(UCBbr(0.1, a=1.0, b=2.0)).bound)
    assert LINE.contains(optimizer.ask())


def test_a_resumed_process_comes_to_the_same_certificate() -> None:
    surrogate = GPyTorchSurrogate()
    optimizer = GPUCB(TABLE, direction="minimize", seed=1, surrogate=surrogate)
    for _ in range(9):
        params = optimizer.ask()
        optimizer.tell(params, entry(params))
        optimizer.certificate(OptimalityGap(0.1, beta="grid"))
    fresh = GPUCB(TABLE, direction="minimize", seed=1, surrogate=GPyTorchSurrogate())
    fresh.replace_history(optimizer.history)
    copied = pickle.loads(pickle.dumps(optimizer))
    for resumed in (fresh, copied):
        assert resumed.certificate(OptimalityGap(0.1, beta="grid")) == optimizer.certificate(
            OptimalityGap(0.1, beta="grid")
        )
    assert fresh.ask() == copied.ask() == optimizer.ask()


def test_minimising_is_maximising_the_negative() -> None:
    surrogate = GPyTorchSurrogate()
    optimizers = [GPUCB(LINE, direction=d, seed=2, surrogate=surrogate) for d in ("minimize", "maximize")]
    for _ in range(8):
        asked = [optimizer.ask() for optimizer in optimizers]
        assert asked[0] == asked[1]
        value = (asked[0]["x"] - 0.4) ** 2
        for optimizer, sign in zip(optimizers, (1.0, -1.0), strict=True):
            optimizer.tell(asked[0], sign * value)
    bounds = [optimizer.certificate(OptimalityGap(0.1, beta="grid")).bound for optimizer in optimizers]
    assert bounds[0] == bounds[1]


# ---- Bad data ----------------------------------------------------------------------------------------------------

ROUGH = np.linspace(0.0, 1.0, 8)


@pytest.mark.parametrize("noise_std", ["learned", 0.0, 0.1])
def test_the_same_point_fifty_times(noise_std: Any) -> None:
    """Merged: all fifty count for the deviation there, which is at most that of their mean."""
    rng = np.random.default_rng(0)
    points = np.concatenate([ROUGH, np.full(50, 0.3)])
    noise = 0.0 if noise_std == 0.0 else 0.1
    values = np.sin(5.0 * points) + noise * rng.standard_normal(len(points))
    optimizer = told(values, points, GPyTorchSurrogate(noise_std=noise_std))
    posterior = optimizer.snapshot().model.posteriors[0]
    assert len(posterior.points) == 9
    assert posterior.mean_std(np.array([[0.3]]))[1][0] <= posterior.noise_std / math.sqrt(50) + 1e-6
    assert math.isfinite(optimizer.certificate(OptimalityGap(0.1, beta="grid")).bound)
    assert LINE.contains(optimizer.ask())


@pytest.mark.parametrize("noise_std", ["learned", 0.0])
def test_points_that_nearly_coincide(noise_std: Any) -> None:
    points = np.concatenate([ROUGH, 0.3 + 1e-9 * np.arange(8)])
    optimizer = told(np.sin(5.0 * points), points, GPyTorchSurrogate(noise_std=noise_std))
    assert math.isfinite(optimizer.certificate(OptimalityGap(0.1, beta="grid")).bound)
    assert LINE.contains(optimizer.ask())


@pytest.mark.parametrize("values", [np.full(8, 3.0), 5e-324 * np.arange(8)], ids=["equal", "smallest"])
def test_values_that_are_all_equal(values: np.ndarray) -> None:
    optimizer = told(values, ROUGH)
    certificate = optimizer.certificate(UCBbr(0.1))
    assert certificate.bound == math.inf
    assert "all values are equal" in certificate.reason
    assert LINE.contains(optimizer.ask())


@pytest.mark.parametrize(("factor", "shift"), [(1e200, 0.0), (1e-200, 0.0), (1.0, 1e8)])
def test_units_do_not_matter(factor: float, shift: float) -> None:
    values = np.sin(5.0 * ROUGH)
    plain, moved = told(values, ROUGH), told(factor * values + shift, ROUGH)
    bounds = [o.certificate(OptimalityGap(e, beta="grid")).bound for o, e in ((plain, 0.1), (moved, 0.1 * factor))]
    assert bounds[1] / factor == pytest.approx(bounds[0], rel=1e-3)
    assert moved.ask()["x"] == pytest.approx(plain.ask()["x"], abs=1e-3)


def test_a_disaster_among_the_values() -> None:
    values = np.sin(5.0 * ROUGH)
    values[3] = -1e6
    optimizer = told(values, ROUGH)
    assert optimizer.certificate(OptimalityGap(0.1, beta="grid")).bound < 100.0
    assert LINE.contains(optimizer.ask())


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
def test_what_is_no_value_never_enters_a_fit(bad: float | None) -> None:
    good = told(np.sin(5.0 * ROUGH), ROUGH)
    mixed = told([*np.sin(5.0 * ROUGH), bad], [*ROUGH, 0.5])
    rule = OptimalityGap(0.1, beta="grid")
    assert mixed.certificate(rule).bound == good.certificate(rule).bound
    assert mixed.certificate(rule).n_excluded == 1
    assert LINE.contains(mixed.ask())


def test_a_point_outside_the_space() -> None:
    optimizer = told(np.sin(5.0 * np.linspace(-0.5, 1.0, 9)), np.linspace(-0.5, 1.0, 9))
    assert math.isfinite(optimizer.certificate(OptimalityGap(0.1, beta="grid")).bound)
    assert LINE.contains(optimizer.ask())


def test_too_few_observations() -> None:
    """The count is the model's: ℓ, α, s, σ and the mean of a rational quadratic kernel are five numbers."""
    points = np.linspace(0.0, 1.0, 5)
    surrogate = GPyTorchSurrogate(ScaleKernel(RQKernel()))
    assert told(np.sin(points), points, surrogate).certificate(UCBbr(0.1)).reason == (
        "too few observations: 5 of at least 6, one more than the 5 numbers that the model estimates from them"
    )


@pytest.mark.parametrize("wrap", [lambda kernel: kernel, ScaleKernel, lambda kernel: kernel + RBFKernel()])
def test_a_kernel_that_does_not_fit_the_space_is_reported_at_the_first_question(wrap) -> None:
    optimizer = GPUCB(LINE, seed=0, surrogate=GPyTorchSurrogate(wrap(RBFKernel(ard_num_dims=3))))
    with pytest.raises(ValueError, match="the model does not take points with 1 columns"):
        optimizer.ask()


# ---- Optuna ------------------------------------------------------------------------------------------------------


def plain(trial: Any) -> float:
    return entry({"x": trial.suggest_int("x", 0, 6), "c": trial.suggest_categorical("c", ["a", "b", "c"])})


def study_with(optuna: Any, sampler: Any) -> Any:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(direction="minimize", sampler=sampler)


def test_optunas_sampler_lends_it_to_the_callback() -> None:
    optuna, ours = pytest.importorskip("optuna"), pytest.importorskip("regretstop_optuna")
    surrogate = GPyTorchSurrogate(ScaleKernel(MaternKernel(nu=1.5)), noise_std=0.0)
    study = study_with(optuna, ours.GPUCBSampler(seed=0, beta="matched", surrogate=surrogate))
    study.optimize(
        plain, n_trials=21, callbacks=[ours.RegretBoundCallback(rule=OptimalityGap(0.2, delta=0.1, beta="grid"))]
    )
    certificate = ours.certificate_of(study)
    assert certificate.stop
    assert certificate.guarantee == "model"
    assert study.best_value <= certificate.bound
    again = pickle.loads(pickle.dumps(study))
    tree = pytest.importorskip("regretstop_optuna._tree").Tree.flat(again.trials[0].distributions)
    assert again.sampler.models.get(study, tree).space.dim == 2


def test_optunas_callback_takes_it_for_any_sampler() -> None:
    optuna, ours = pytest.importorskip("optuna"), pytest.importorskip("regretstop_optuna")
    callback = ours.RegretBoundCallback(
        rule=OptimalityGap(0.2, delta=0.1, beta="grid"), surrogate=GPyTorchSurrogate(scaled("rbf", 4), noise_std=0.0)
    )
    study = study_with(optuna, optuna.samplers.RandomSampler(seed=0))
    study.optimize(plain, n_trials=80, callbacks=[callback])
    assert ours.certificate_of(study).stop
    assert study.best_value <= ours.certificate_of(study).bound


def test_a_surrogate_that_fails_does_not_end_a_study() -> None:
    """A kernel for seven columns is of no use here: said once by the sampler and once by the callback."""
    optuna, ours = pytest.importorskip("optuna"), pytest.importorskip("regretstop_optuna")
    study = study_with(optuna, ours.GPUCBSampler(seed=0, surrogate=GPyTorchSurrogate(RBFKernel(ard_num_dims=7))))
    with captured("regretstop_optuna") as log:
        study.optimize(plain, n_trials=8, callbacks=[ours.RegretBoundCallback(epsilon=0.1)])
    assert len(study.trials) == 8
    certificate = ours.certificate_of(study)
    assert certificate.bound == math.inf
    assert "does not take points with 4 columns" in certificate.reason
    assert len([said for said in log.at(logging.WARNING) if "could not be fitted" in said]) == 2


def test_a_model_that_is_built_serves_a_whole_search() -> None:
    def build(x: Any, y: Any) -> ExactGP:
        model = ExactGP(x, y, ScaleKernel(RBFKernel(ard_num_dims=x.shape[-1])))
        model.likelihood.noise = exactly(1e-3)
        return model

    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    result = minimize(
        lambda p: (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2,
        space,
        rule=UCBbr(0.05),
        max_trials=40,
        seed=0,
        surrogate=GPyTorchSurrogate(build),
    )
    assert result.certificate.stop
    assert result.value <= result.certificate.bound
