"""Does a search over branches end by a false certificate no oftener than it says? On draws of the kernel it knows."""

import numpy as np
import pytest
from scipy.stats import binomtest

from regretstop import GPUCB, Categorical, Float, GaussianProcess, Matern52, OptimalityGap, Rule, Space, UCBbr
from regretstop.model import Embedding
from tests.draws import FourierDraws, cube_grid

TWO = Space(
    {"c": Categorical(["line", "square"]), "x": Float(0, 1), "y": Float(0, 1), "z": Float(0, 1)},
    when={"x": {"c": ["line"]}, "y": {"c": ["square"]}, "z": {"c": ["square"]}},
)
# A point, two lines, one of them below another choice, and a square.
FOUR = Space(
    {
        "c": Categorical(["choice", "line", "square"]),
        "again": Categorical(["point", "line"]),
        "w": Float(0, 1),
        "x": Float(0, 1),
        "y": Float(0, 1),
        "z": Float(0, 1),
    },
    when={
        "again": {"c": ["choice"]},
        "w": {"again": ["line"]},
        "x": {"c": ["line"]},
        "y": {"c": ["square"]},
        "z": {"c": ["square"]},
    },
)
LENGTHSCALES = {"c": 1.0, "again": 1.0, "w": 0.15, "x": 0.1, "y": 0.35, "z": 0.35}
EPSILON, DELTA, NOISE = 0.1, 0.1, 3e-3
MOST = 60


def fine_points(space: Space) -> np.ndarray:
    """Return a fine grid of every branch, encoded."""
    grids = []
    for branch in space.branches:
        free = np.flatnonzero(branch.active & (space.categories == 0))
        grid = cube_grid(len(free), 2001 if len(free) == 1 else 61) if len(free) else np.zeros((1, 0))
        for choices in np.ndindex(*np.where(branch.active, np.maximum(space.categories, 1), 1)):
            points = np.tile(np.array(choices, dtype=float), (len(grid), 1))
            points[:, free] = grid
            grids.append(points[np.all(space.active(points) == branch.active, axis=1)])
    return space.project(np.vstack(grids))


def ends(space: Space, rule: Rule, n: int, seed: int, prior_std: float = 1.0) -> list[tuple[bool, bool, int]]:
    """Return for each of n draws whether the search ended by a certificate, falsely, and after how many evaluations."""
    rng = np.random.default_rng(seed)
    embedding = Embedding(space.categories)
    lengthscales = [LENGTHSCALES[name] for name in space.names]
    kernel = Matern52(lengthscales=lengthscales, outputscale=prior_std**2)
    surrogate = GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=NOISE, mean=0.0)
    fine = embedding(fine_points(space))
    found = []
    for k in range(n):
        draw = FourierDraws(Matern52, np.array(lengthscales)[embedding.axis], 1, rng)
        best = float(draw.values(fine).max())
        optimizer = GPUCB(space, seed=k, surrogate=surrogate)
        truth: list[float] = []
        for _ in range(MOST):
            params = optimizer.ask(epsilon=EPSILON)
            truth.append(float(draw.values(embedding(space.encode(params)[None]))[0, 0]))
            optimizer.tell(params, truth[-1] + NOISE * float(rng.standard_normal()))
            certificate = optimizer.certificate(rule)
            if certificate.stop:
                assert certificate.guarantee == "theorem"
                break
        is_false = certificate.stop and best - truth[certificate.incumbent] > EPSILON
        found.append((certificate.stop, is_false, len(truth)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("space", [TWO, FOUR], ids=["two branches", "four"])
@pytest.mark.parametrize("rule", [UCBbr(EPSILON, DELTA), OptimalityGap(EPSILON, DELTA)], ids=["UCBbr", "gap"])
def test_a_search_over_branches_seldom_ends_falsely(rule: Rule, space: Space) -> None:
    found = ends(space, rule, 30, 20240229)
    n_stops, n_false = sum(stop for stop, _, _ in found), sum(false for _, false, _ in found)
    assert n_stops >= 27
    assert binomtest(n_false, len(found), DELTA, alternative="greater").pvalue >= 0.05


@pytest.mark.slow
def test_with_a_prior_that_is_too_narrow_it_does() -> None:
    """The simulation can fail: a third of the true deviation, and most of what is left is not seen."""
    found = ends(TWO, UCBbr(EPSILON, DELTA), 30, 20240229, prior_std=1.0 / 3.0)
    assert binomtest(sum(false for _, false, _ in found), len(found), DELTA, alternative="greater").pvalue < 0.05
