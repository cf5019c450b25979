"""Hamiltonian Monte Carlo: the integrator, the balance of a transition, and moments of targets that are known."""

import math

import numpy as np
import pytest

from regretstop.model._hmc import Target, advance, leapfrog, start, transition, warm_up

MEAN = np.array([1.0, -2.0, 0.5, 0.0])
FACTOR = np.array([[1.4, 0.0, 0.0, 0.0], [0.6, 0.3, 0.0, 0.0], [0.0, 0.1, 0.2, 0.0], [0.5, 0.0, 1.0, 3.0]])
COVARIANCE = FACTOR @ FACTOR.T
MIXING = np.array([[1.0, 0.0, 0.0], [0.8, 0.3, 0.0], [-0.5, 0.2, 2.0]])


def gaussian(thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    deviations = thetas - MEAN
    gradients = np.linalg.solve(COVARIANCE, deviations.T).T
    return 0.5 * np.sum(deviations * gradients, axis=1), gradients


def logistic(thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """θ = A z with independent standard logistic z, whose tails are heavier than a normal's."""
    z = np.linalg.solve(MIXING, thetas.T).T
    values = np.sum(np.abs(z) + 2.0 * np.log1p(np.exp(-np.abs(z))), axis=1)
    return values, np.linalg.solve(MIXING.T, np.tanh(z / 2.0).T).T


def quartic(thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.sum(thetas**4, axis=1) / 4.0, thetas**3


def energy(target: Target, positions: np.ndarray, momenta: np.ndarray) -> np.ndarray:
    return target(positions)[0] + 0.5 * np.sum(momenta**2, axis=1)


# ---- The integrator ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "dim"), [(gaussian, 4), (logistic, 3), (quartic, 2)])
def test_reversed_momenta_lead_back(target: Target, dim: int) -> None:
    rng = np.random.default_rng(0)
    positions, momenta = rng.standard_normal((2, 5, dim))
    root = np.linalg.cholesky(np.cov(rng.standard_normal((dim, 20))))
    there = leapfrog(target, start(target, positions, root), momenta, 0.2, 7)
    back = leapfrog(target, start(target, there[0], root), -there[1], 0.2, 7)
    assert np.max(np.abs(there[0] - positions)) > 0.1
    assert back[0] == pytest.approx(positions, abs=1e-10)
    assert back[1] == pytest.approx(-momenta, abs=1e-10)


@pytest.mark.parametrize(("target", "dim"), [(logistic, 3), (quartic, 2)])
def test_volume_is_preserved(target: Target, dim: int) -> None:
    """|det ∂(q', p')/∂(q, p)| = 1 with θ = root q, by central differences."""
    rng = np.random.default_rng(1)
    root = np.tril(rng.uniform(0.5, 1.5, (dim, dim)))

    def flow(state: np.ndarray) -> np.ndarray:
        q, p = state[:dim], state[dim:]
        end = leapfrog(target, start(target, (root @ q)[None], root), p[None], 0.3, 4)
        return np.concatenate([np.linalg.solve(root, end[0][0]), end[1][0]])

    at, step = 0.5 * rng.standard_normal(2 * dim), 1e-5
    jacobian = np.array([(flow(at + step * e) - flow(at - step * e)) / (2 * step) for e in np.eye(2 * dim)])
    assert abs(np.linalg.det(jacobian)) == pytest.approx(1.0, abs=1e-6)


def test_energy_errors_are_of_second_order() -> None:
    rng = np.random.default_rng(2)
    positions, momenta = rng.standard_normal((2, 50, 3))
    before = energy(logistic, positions, momenta)
    errors: list[float] = []
    for n_steps in (10, 20):
        end = leapfrog(logistic, start(logistic, positions, MIXING), momenta, 1.0 / n_steps, n_steps)
        errors.append(float(np.sqrt(np.mean((energy(logistic, end[0], end[1]) - before) ** 2))))
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


# ---- A transition ------------------------------------------------------------------------------------------------


def exact_logistic(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.logistic(size=(n, 3)) @ MIXING.T


def test_a_transition_leaves_the_target_as_it_is_and_is_in_balance() -> None:
    """From exact draws, with steps so long that some are refused: P(A then B) = P(B then A), within 4.5 deviations."""
    n = 40_000
    rng = np.random.default_rng(3)
    before = exact_logistic(n, rng)
    chains = start(logistic, before, 1.8 * MIXING, step=1.1)
    for _ in range(4):  # each with another length of the trajectory
        moved, acceptance = transition(logistic, chains, rng)
        assert 0.5 < acceptance < 0.95
        z, z_after = (np.linalg.solve(MIXING, x.T).T for x in (before, moved.positions))
        for low, high in ((z[:, 0] < -1.0, z_after[:, 0] < -1.0), (z[:, 2] > 0.5, z_after[:, 2] > 0.5)):
            other, other_after = z[:, 1] > 0.0, z_after[:, 1] > 0.0
            difference = (low & other_after).astype(float) - (other & high)
            assert abs(np.mean(difference)) < 4.5 * np.std(difference) / math.sqrt(n)
        # Standard logistic: P(z < log(p / (1 − p))) = p.
        for p in (0.05, 0.5, 0.95):
            share = np.mean(z_after < math.log(p / (1.0 - p)), axis=0)
            assert share == pytest.approx(p, abs=4.5 * math.sqrt(p * (1.0 - p) / n))


def test_a_trajectory_that_diverges_is_counted_and_refused() -> None:
    chains = start(quartic, np.full((3, 2), 30.0), np.eye(2), step=1.0)
    moved, acceptance = transition(quartic, chains, np.random.default_rng(0))
    assert moved.n_divergent == moved.n_transitions == 3
    assert acceptance == 0.0
    assert np.array_equal(moved.positions, chains.positions)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_where_the_density_is_no_number_nobody_goes(bad: float) -> None:
    def half(thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = gaussian(thetas)
        return np.where(thetas[:, 0] > 1.0, bad, values), gradients

    chains = start(half, np.tile(MEAN - 0.5, (4, 1)), np.linalg.cholesky(COVARIANCE))
    chains = advance(half, chains, 50, np.random.default_rng(0))
    assert 0 < chains.n_divergent < chains.n_transitions == 200
    assert np.all(chains.positions[:, 0] <= 1.0)
    assert np.all(np.isfinite(chains.values))


def test_the_same_seed_gives_the_same_chains() -> None:
    one, other = (
        warm_up(gaussian, start(gaussian, np.zeros((3, 4)), np.eye(4)), 20, np.random.default_rng(5)) for _ in range(2)
    )
    assert np.array_equal(one.positions, other.positions)
    assert one.step == other.step


# ---- Whole chains ------------------------------------------------------------------------------------------------


def collect(target: Target, positions: np.ndarray, n: int) -> tuple[np.ndarray, int]:
    """Return n positions of every chain after a warm-up that knows nothing of the target, and the divergences since.

    The positions have the shape (n, k, d).
    """
    rng = np.random.default_rng(4)
    chains = warm_up(target, start(target, positions, np.eye(positions.shape[1])), 150, rng)
    before, draws = chains.n_divergent, list[np.ndarray]()
    for _ in range(n):
        chains, _ = transition(target, chains, rng)
        draws.append(chains.positions)
    return np.array(draws), chains.n_divergent - before


def assert_mean(of_chains: np.ndarray, expected: np.ndarray) -> None:
    """Chains are independent, so that their means say what the Monte-Carlo error is: within five of it."""
    error = np.std(of_chains, axis=0, ddof=1) / math.sqrt(len(of_chains))
    assert np.all(np.abs(np.mean(of_chains, axis=0) - expected) < 5.0 * error)


def test_moments_of_a_correlated_gaussian() -> None:
    draws, n_divergent = collect(gaussian, np.full((32, 4), 3.0), 200)
    assert n_divergent == 0
    assert_mean(np.mean(draws, axis=0), MEAN)
    centred = draws - MEAN
    products = np.einsum("nki,nkj->kij", centred, centred) / len(draws)
    assert_mean(products, COVARIANCE)
    # Not because the errors are wide: 6400 draws that were independent would have deviations within 4 %.
    assert np.std(draws, axis=(0, 1)) == pytest.approx(np.sqrt(np.diag(COVARIANCE)), rel=0.08)


def test_moments_of_heavier_tails() -> None:
    draws, n_divergent = collect(logistic, np.full((32, 3), 3.0), 200)
    assert n_divergent == 0
    z = np.einsum("ij,nkj->nki", np.linalg.inv(MIXING), draws)
    assert_mean(np.mean(z, axis=0), np.zeros(3))
    assert_mean(np.mean(z**2, axis=0), np.full(3, math.pi**2 / 3.0))
    assert_mean(np.mean(z < math.log(0.05 / 0.95), axis=0), np.full(3, 0.05))


def test_warm_up_finds_the_scales_and_the_step() -> None:
    rng = np.random.default_rng(6)
    chains = warm_up(gaussian, start(gaussian, np.full((16, 4), 3.0), np.eye(4)), 150, rng)
    learned = chains.root @ chains.root.T
    assert np.sqrt(np.diag(learned)) == pytest.approx(np.sqrt(np.diag(COVARIANCE)), rel=0.2)
    after = advance(gaussian, chains, 100, rng)
    assert after.acceptance == pytest.approx(0.8, abs=0.12)
    assert after.n_transitions == 16 * 250
