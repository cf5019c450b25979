"""The mode of the hyperparameters is the mode: no random start leads to a better one, and finding it stays cheap."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from benchmarks import histories
from benchmarks.histories import History
from regretstop import Matern52, Space, SquaredExponential
from regretstop.model import Embedding, GaussianProcess, HyperparameterDensity, Kernel, standardize
from regretstop.model._hyperparameters import HyperparameterEstimator, TrainingData, last_checkpoint
from tests.histories import INFINITE, random_history

pytest.importorskip("optuna")  # in whose words real histories are kept

# By history and number of observations: θ of the best of 30 random starts.
BEST = json.loads((Path(__file__).parents[1] / "data" / "modes.json").read_text())
TOLERANCE = 0.1
# As wide as the priors, and half as wide again.
SPREAD = 1.5
LOW, HIGH = np.log([5e-3, 1e-3, 1e-4]), np.log([1e3, 1e3, 10.0])


@cache
def kept() -> dict[str, History]:
    return {each.name: each for each in (*histories.real(), *histories.recorded())}


def part_of(history: History, n: int) -> TrainingData:
    points, values = history.encoded()
    return TrainingData(points[:n], values[:n], Embedding(history.space.categories))


def density_of(part: TrainingData, kernel: Kernel, noise_std: float | None) -> HyperparameterDensity:
    data = standardize(part.values)
    known = None if noise_std is None else noise_std / data.scale
    return HyperparameterDensity(part.points, data.values, kernel=kernel, embedding=part.embedding, noise_std=known)


def value_at_mode(
    part: TrainingData, kernel: Kernel, noise_std: float | None, estimator: HyperparameterEstimator | None = None
) -> tuple[float, HyperparameterDensity]:
    """Return −log density of the mode that is found, and the density."""
    estimator = estimator or HyperparameterEstimator(kernel, "learned" if noise_std is None else noise_std, 8)
    mode = estimator.estimate(part).mode
    density = density_of(part, kernel, noise_std)
    theta = np.log([*mode.lengthscales, mode.prior_std] + [mode.noise_std] * (noise_std is None))
    return density(theta)[0], density


def best_of_random_starts(density: HyperparameterDensity, n: int, seed: int = 0) -> tuple[float, np.ndarray]:
    """Return the least −log density that L-BFGS-B finds from so many starts about the priors, and its θ."""
    rng = np.random.default_rng(seed)
    index = [0] * density.dim + [1] + [2] * density.learns_noise
    low, high = LOW[index], HIGH[index]
    starts = density.prior_medians + SPREAD * density.prior_widths * rng.standard_normal((n, density.size))
    found = [
        minimize(
            density,
            np.clip(start, low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"maxiter": 300, "ftol": 1e-9},
        )
        for start in starts
    ]
    best = min(found, key=lambda result: float(result.fun))
    return float(best.fun), np.asarray(best.x)


@pytest.mark.parametrize("name", BEST)
def test_no_random_start_led_to_a_better_mode(name: str) -> None:
    """At n = 20, 25, …; one lengthscale for what is noise was 15 worse on real jobs, and 60 on one of the benchmark."""
    history, estimator = kept()[name], HyperparameterEstimator(Matern52(), "learned", 8)
    short: dict[int, float] = {}
    for n, theta in BEST[name].items():
        value, density = value_at_mode(part_of(history, int(n)), Matern52(), None, estimator)
        short[int(n)] = value - density(np.array(theta))[0]
    assert {n: by for n, by in short.items() if by > TOLERANCE} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in (*histories.real(), *histories.recorded())])
def test_no_random_start_leads_to_a_better_mode(name: str) -> None:
    """The starts themselves, on all histories; writes down nothing."""
    history, estimator = kept()[name], HyperparameterEstimator(Matern52(), "learned", 8)
    short: dict[int, float] = {}
    for n in range(20, len(history.observations) + 1, 5):
        value, density = value_at_mode(part_of(history, n), Matern52(), None, estimator)
        short[n] = value - best_of_random_starts(density, 30)[0]
    assert {n: by for n, by in short.items() if by > TOLERANCE} == {}


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([5, 6, 7, 8, 10, 11, 13, 16, 19, 23, 27, 32, 38]),
    space=st.sampled_from(sorted(INFINITE)),
    noise=st.sampled_from([0.05, 0.5]),
    known=st.booleans(),
    kernel=st.sampled_from([Matern52(), SquaredExponential()]),
)
def test_no_random_start_leads_to_a_better_mode_of_random_data(
    seed: int, n: int, space: str, noise: float, known: bool, kernel: Kernel
) -> None:
    """Where modes are searched for; in between one that has come up since is not known yet."""
    points, values = encoded(INFINITE[space], n, seed, noise)
    part = TrainingData(points, values, Embedding(INFINITE[space].categories))
    value, density = value_at_mode(part, kernel, noise if known else None)
    assert value <= best_of_random_starts(density, 8, seed=1)[0] + TOLERANCE


def encoded(space: Space, n: int, seed: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    history = random_history(space, n, seed, noise_std=noise)
    return np.array([space.encode(params) for params in history.params]), np.array(history.values)


@pytest.mark.parametrize("name", [each.name for each in histories.real()])
def test_a_running_study_evaluates_the_density_as_often_as_is_affordable(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search from one start took 28 evaluations a fit, one a call; 90 in 28 calls took 1.7 times its time."""
    counts: list[int] = []
    many = HyperparameterDensity.many

    def counted(self: HyperparameterDensity, thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts.append(len(thetas))
        return many(self, thetas)

    monkeypatch.setattr(HyperparameterDensity, "many", counted)
    history = kept()[name]
    points, values = history.encoded()
    surrogate = GaussianProcess(kernel=Matern52(), noise_std="learned", hyperparameters="map", mean=0.0)
    for n in range(1, 101):
        surrogate.fit(points[:n], values[:n], categories=history.space.categories, sign=1.0)
    assert sum(counts) < 95 * 100
    assert len(counts) < 28 * 100


@pytest.mark.parametrize(("n", "checkpoint"), [(1, None), (7, None), (8, 8), (9, 8), (10, 10), (12, 11), (256, 256)])
def test_checkpoints_are_quarters_of_octaves(n: int, checkpoint: int | None) -> None:
    assert last_checkpoint(n) == checkpoint
