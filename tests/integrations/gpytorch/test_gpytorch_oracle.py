"""Two implementations of one model: the native one and GPyTorch's agree where they are given the same numbers."""

import math
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.kernels import RQKernel, ScaleKernel
from regretstop_gpytorch import GPyTorchSurrogate
from regretstop_gpytorch._density import Density
from regretstop_gpytorch._modules import modules_from
from regretstop_gpytorch._posterior import GPyTorchPosterior
from regretstop_gpytorch._prior import Prior

from regretstop import Matern52
from regretstop.model import Embedding, GaussianProcess, HyperparameterDensity, merge_duplicates
from regretstop.model._posterior import GaussianProcessPosterior
from tests.draws import data_for
from tests.integrations.gpytorch.cases import NATIVE, SPACES, ExactGP, exactly, noise, rational_quadratic, scaled

CPU = torch.device("cpu")
CASES = [("matern", "numeric"), ("rbf", "numeric"), (None, "numeric"), (None, "mixed")]
each_case = pytest.mark.parametrize(("name", "space"), CASES)


def modules_for(name: str | None, embedding: Embedding, points: np.ndarray, values: np.ndarray, known: bool) -> Any:
    """Return the modules of a kernel by name, or of the default one, for points that are not yet embedded."""
    model = None if name is None else scaled(name, len(embedding.categories))
    columns = torch.as_tensor(embedding(points))
    return modules_from(model, None, embedding, columns, values, noise_is_declared=known)[0]


def posteriors(
    name: str | None, space: str, mean: float | None, n_repeats: int = 4, noise_std: float = 0.2
) -> tuple[GaussianProcessPosterior, GPyTorchPosterior]:
    """Return both posteriors for the same data and numbers."""
    embedding = Embedding(SPACES[space])
    points, values = data_for(SPACES[space], 18, n_repeats=n_repeats)
    lengthscales, prior_std = np.linspace(0.3, 0.9, points.shape[1]), 1.3
    modules = modules_for(name, embedding, points, values, known=True)
    modules.covar_module.base_kernel.lengthscale = torch.as_tensor(lengthscales)
    modules.covar_module.outputscale = exactly(prior_std**2)
    modules.requires_grad_(False)
    mean_module = None
    if mean is not None:
        mean_module = gpytorch.means.ConstantMean().double().requires_grad_(False)
        mean_module.constant = exactly(mean)
    data = merge_duplicates(points, values, np.ones(len(values)))[:3]
    ours = GPyTorchPosterior(
        *data,
        prior=Prior(modules.covar_module, mean_module, prior_std),
        embedding=embedding,
        noise_std=noise_std,
        device=CPU,
    )
    native = GaussianProcessPosterior(
        *data,
        kernel=NATIVE[name or "matern"](),
        embedding=embedding,
        lengthscales=lengthscales,
        prior_std=prior_std,
        noise_std=noise_std,
        mean=mean,
    )
    return native, ours


def queries(space: str, posterior: Any) -> np.ndarray:
    """Random points, points of the data, and points outside the cube."""
    points, _ = data_for(SPACES[space], 30, seed=5)
    numeric = SPACES[space] == 0
    points[20:, numeric] = 3.0 * points[20:, numeric] - 1.0
    return np.vstack([points, posterior.points[:5]])


@each_case
@pytest.mark.parametrize("mean", [None, 0.7])
def test_posterior_and_gradients(name: str | None, space: str, mean: float | None) -> None:
    native, ours = posteriors(name, space, mean)
    where = queries(space, native)
    for one, other in zip(native.mean_std(where), ours.mean_std(where), strict=True):
        assert other == pytest.approx(one, abs=1e-6)
    for one, other in zip(native.mean_std_gradient(where), ours.mean_std_gradient(where), strict=True):
        assert other == pytest.approx(one, abs=1e-6)
    assert (ours.prior_std, ours.noise_std, ours.jitter) == (native.prior_std, native.noise_std, native.jitter)
    assert ours.kernel == native.kernel
    assert ours.lengthscales == pytest.approx(native.lengthscales, rel=1e-12)


@each_case
def test_conditioning(name: str | None, space: str) -> None:
    """On new points, on repeats of old ones, and at the mean."""
    native, ours = posteriors(name, space, None)
    where = queries(space, native)
    more = np.vstack([where[:3], native.points[:2], where[:1]])
    for values in (None, np.linspace(-1.0, 2.0, len(more))):
        expected = native.condition_on(more, values).condition_on(where[5:7])
        found = ours.condition_on(more, values).condition_on(where[5:7])
        for one, other in zip(expected.mean_std(where), found.mean_std(where), strict=True):
            assert other == pytest.approx(one, abs=1e-6)
    assert ours.condition_on(where[:0]) is ours


@each_case
@pytest.mark.parametrize("mean", [None, 0.7])
def test_taking_back_and_covariance(name: str | None, space: str, mean: float | None) -> None:
    """Of a point seen once, and of one of two repeats."""
    native, ours = posteriors(name, space, mean)
    where = queries(space, native)
    assert ours.covariance(where) == pytest.approx(native.covariance(where), abs=1e-6)
    once, twice = native.points[native.repeats == 1.0][0], native.points[native.repeats == 2.0][0]
    value = float(native.values[native.repeats == 1.0][0])
    expected, found = (p.without(once, value).without(twice, 0.3) for p in (native, ours))
    assert found.repeats.tolist() == expected.repeats.tolist()
    for one, other in zip(expected.mean_std(where), found.mean_std(where), strict=True):
        assert other == pytest.approx(one, abs=1e-6)


def test_conditioning_on_nothing_new_where_there_is_no_noise() -> None:
    """The floor of the deviation is 0 then, and an exact repeat leaves all as it was."""
    native, ours = posteriors("matern", "numeric", None, n_repeats=0, noise_std=0.0)
    again = ours.condition_on(ours.points[:3])
    where = queries("numeric", native)[:20]
    assert again.mean_std(where)[1] == pytest.approx(native.mean_std(where)[1], abs=1e-6)
    assert ours.mean_std(ours.points)[1] == pytest.approx(0.0, abs=1e-6)


@each_case
@pytest.mark.parametrize("noise_std", [None, 0.1])
def test_density_and_its_gradient(name: str | None, space: str, noise_std: float | None) -> None:
    """Up to one constant for all hyperparameters; the gradient by the chain rule from ours, (log s², log ℓ, log σ²)."""
    embedding = Embedding(SPACES[space])
    points, values = data_for(SPACES[space], 20, n_repeats=6)
    native = HyperparameterDensity(
        points, values, kernel=NATIVE[name or "matern"](), embedding=embedding, noise_std=noise_std
    )
    modules = modules_for(name, embedding, points, values, known=noise_std is not None)
    ours = Density(modules, embedding(points), values, noise_std)
    dim, rng = points.shape[1], np.random.default_rng(0)
    differences: list[float] = []
    for _ in range(4):
        theta = rng.uniform(-1.5, 0.5, native.size)
        value, gradient = native(theta)
        raw = [2.0 * theta[dim], *theta[:dim]]
        stretch = [2.0, *np.ones(dim)]
        if noise_std is None:
            free_noise = math.exp(2.0 * theta[-1]) - 1e-8  # what is above the floor of σ²
            raw.append(math.log(free_noise))
            stretch.append(2.0 * math.exp(2.0 * theta[-1]) / free_noise)
        our_value, our_gradient = ours(np.array(raw))
        differences.append(our_value - value)
        chained = our_gradient * stretch
        expected = [gradient[dim], *gradient[:dim], *gradient[dim + 1 :]]
        assert chained == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert differences == pytest.approx([differences[0]] * 4, abs=1e-6)


def test_density_of_any_kernel_is_gpytorchs_own() -> None:
    """A kernel that the core does not have, a zero mean, no repeats: the library's marginal likelihood.

    The model that is built has no priors, and gets those of the other one.
    """
    points, values = data_for(SPACES["numeric"], 15)
    x, y = torch.as_tensor(points), torch.as_tensor(values)
    model = ExactGP(x, y[:, None], rational_quadratic(), likelihood=noise()).double()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    modules, _ = modules_from(
        lambda x, y: ExactGP(x, y, ScaleKernel(RQKernel())),
        None,
        Embedding(SPACES["numeric"]),
        x,
        values,
        noise_is_declared=False,
    )
    ours = Density(modules, points, values, None)
    found, expected = [], []
    for theta in np.random.default_rng(1).uniform(-1.0, 1.0, (4, len(ours.theta))):
        found.append(ours(theta)[0])
        for (_, theirs), (_, mine) in zip(model.named_parameters(), in_the_order_of(model, modules), strict=True):
            theirs.data.copy_(mine.data)
        with gpytorch.settings.fast_computations(False, False, False):
            expected.append(-15.0 * float(mll(model(x), y).detach()))
    assert np.diff(found) == pytest.approx(np.diff(expected), abs=1e-6)


def in_the_order_of(model: Any, modules: Any) -> list[tuple[str, Any]]:
    mine = dict(modules.named_parameters())
    return [(name, mine[name]) for name, _ in model.named_parameters()]


def test_posterior_of_any_kernel_is_gpytorchs_own() -> None:
    points, values = data_for(SPACES["numeric"], 15)
    kernel = ScaleKernel(RQKernel()).double().requires_grad_(False)
    kernel.outputscale, kernel.base_kernel.lengthscale, kernel.base_kernel.alpha = map(exactly, (1.7, 0.4, 2.0))
    model = ExactGP(torch.as_tensor(points), torch.as_tensor(values)[:, None], kernel).double()
    model.likelihood.noise = exactly(0.04)
    model.eval()
    where = np.random.default_rng(2).random((12, 2))
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        expected = model(torch.as_tensor(where))
    surrogate = GPyTorchSurrogate(kernel, noise_std=0.2, hyperparameters="fixed")
    fit = surrogate.fit(points, values, categories=SPACES["numeric"], sign=1.0)
    mean, std = fit.posteriors[0].mean_std(where)
    assert fit.data.offset + fit.data.scale * mean == pytest.approx(expected.mean.numpy(), abs=1e-6)
    assert fit.data.scale * std == pytest.approx(expected.stddev.numpy(), abs=1e-6)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("noise_std", ["learned", 0.2])
def test_the_same_mode_is_found(space: str, noise_std: Any) -> None:
    """With 40 observations of a plain function there is one mode; both searches stop within 1e-6 of its density."""
    points, values = data_for(SPACES[space], 40, n_repeats=5)
    native = GaussianProcess(kernel=Matern52(), noise_std=noise_std, hyperparameters="map", mean=0.0, model_check=False)
    ours = GPyTorchSurrogate(noise_std=noise_std)
    assert ours.n_estimated(SPACES[space]) == native.n_estimated(SPACES[space]) - (noise_std != "learned")
    fits = [s.fit(points, values, categories=SPACES[space], sign=1.0) for s in (native, ours)]
    one, other = (fit.posteriors[0] for fit in fits)
    assert other.lengthscales == pytest.approx(one.lengthscales, rel=0.02)
    assert other.prior_std == pytest.approx(one.prior_std, rel=0.02)
    assert other.noise_std == pytest.approx(one.noise_std, rel=0.02)
    assert fits[1].data.scale == fits[0].data.scale
    where = data_for(SPACES[space], 20, seed=9)[0]
    for expected, found in zip(one.mean_std(where), other.mean_std(where), strict=True):
        assert found == pytest.approx(expected, abs=0.01)
