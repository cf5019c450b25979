"""What may be given to the surrogate, what is made of it, and what is refused in words."""

import copy
import math
import pickle
import re
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.kernels import (
    AdditiveKernel,
    Kernel,
    LinearKernel,
    MaternKernel,
    PeriodicKernel,
    RBFKernel,
    RQKernel,
    ScaleKernel,
)
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean, ZeroMean
from regretstop_gpytorch import GPyTorchSurrogate

from regretstop import Matern52, SquaredExponential
from regretstop.model import Fit, GaussianProcess
from tests.draws import data_for
from tests.integrations.gpytorch.cases import SPACES, ExactGP, prior_of, rational_quadratic, scaled

SQUARE, MIXED = SPACES["numeric"], SPACES["mixed"]


def fit_of(surrogate: GPyTorchSurrogate, categories: np.ndarray = SQUARE, n: int = 14, sign: float = 1.0) -> Fit:
    points, values = data_for(categories, n, n_repeats=2)
    return surrogate.fit(points, sign * values, categories=categories, sign=sign)


def numbers_of(fit: Fit) -> list[float]:
    posterior = fit.posteriors[0]
    where = np.full((1, len(posterior.lengthscales)), 0.25)
    moments = np.concatenate([np.ravel(part) for part in posterior.mean_std_gradient(np.floor(where) + where % 1.0)])
    return [*posterior.lengthscales, posterior.prior_std, posterior.noise_std, fit.data.scale, *moments]


def build_rq(x: Any, y: Any) -> ExactGP:
    """At module level, so that it can be pickled."""
    return ExactGP(x, y, ScaleKernel(RQKernel()), ConstantMean())


RECIPES: dict[str, Any] = {"default": None, "kernel": ScaleKernel(RQKernel()), "function": build_rq}
each_recipe = pytest.mark.parametrize("model", RECIPES.values(), ids=RECIPES)


# ---- One recipe, one fit -----------------------------------------------------------------------------------------


@each_recipe
def test_the_same_data_give_the_same_fit(model: Any) -> None:
    """Whatever was fitted before, and in another object or after a pickle."""
    surrogate = GPyTorchSurrogate(model)
    expected = numbers_of(fit_of(surrogate))
    fit_of(surrogate, n=11)
    if model is None:
        fit_of(surrogate, MIXED)
    assert numbers_of(fit_of(surrogate)) == expected
    assert numbers_of(fit_of(GPyTorchSurrogate(model))) == expected
    assert numbers_of(fit_of(pickle.loads(pickle.dumps(surrogate)))) == expected


def test_a_function_that_draws_gives_the_same_fit() -> None:
    def build(x: Any, y: Any) -> ExactGP:
        kernel = ScaleKernel(RBFKernel())
        kernel.base_kernel.lengthscale = torch.rand(()) + 0.1
        kernel.requires_grad_(False)
        return ExactGP(x, y, kernel)

    surrogate = GPyTorchSurrogate(build)
    torch.manual_seed(1)
    expected = numbers_of(fit_of(surrogate))
    assert numbers_of(fit_of(surrogate)) == expected


@each_recipe
def test_a_posterior_is_pickled(model: Any) -> None:
    posterior = fit_of(GPyTorchSurrogate(model)).posteriors[0]
    copied = pickle.loads(pickle.dumps(posterior))
    where = np.random.default_rng(0).random((5, 2))
    for one, other in zip(posterior.mean_std_gradient(where), copied.mean_std_gradient(where), strict=True):
        assert np.array_equal(one, other)


def test_what_is_given_is_never_modified() -> None:
    kernel, mean = scaled("matern", 2).float(), LinearMean(2)
    states = [copy.deepcopy(module.state_dict()) for module in (kernel, mean)]
    surrogate = GPyTorchSurrogate(kernel, mean_module=mean)
    before = numbers_of(fit_of(surrogate))
    for module, state in zip((kernel, mean), states, strict=True):
        assert module.training
        for name, value in module.state_dict().items():
            assert value.dtype == state[name].dtype
            assert torch.equal(value, state[name])
        assert all(p.requires_grad and p.grad is None for p in module.parameters())
    kernel.outputscale = 50.0  # nor does what becomes of it later change the search
    assert numbers_of(fit_of(surrogate)) == before


# ---- What is made of it ------------------------------------------------------------------------------------------


def test_numbers_of_the_user_are_where_the_search_starts() -> None:
    """Frozen ones are where it ends."""
    kernel = scaled("rbf", 2, lengthscales=[0.2, 0.8], prior_std=1.5)
    kernel.base_kernel.requires_grad_(False)
    surrogate = GPyTorchSurrogate(kernel)
    posterior = fit_of(surrogate).posteriors[0]
    assert posterior.lengthscales == pytest.approx([0.2, 0.8], rel=1e-12)
    assert posterior.prior_std != pytest.approx(1.5)
    assert surrogate.n_estimated(SQUARE) == 3  # s, σ and the mean


def test_what_has_no_prior_gets_the_native_one() -> None:
    """And what has one keeps it: from few observations a kernel without priors would look flat."""
    bare, complete = ScaleKernel(RQKernel()), rational_quadratic()
    other = ScaleKernel(RQKernel(lengthscale_prior=prior_of(-3.0, 0.1)))
    found, expected, moved = (fit_of(GPyTorchSurrogate(kernel)) for kernel in (bare, complete, other))
    assert numbers_of(found) == pytest.approx(numbers_of(expected), rel=1e-9)
    assert numbers_of(moved) != pytest.approx(numbers_of(expected), rel=1e-2)


def test_everything_frozen_is_taken_as_it_is() -> None:
    kernel = scaled("rbf", 2, lengthscales=[0.2, 0.8], prior_std=1.5).requires_grad_(False)
    surrogate = GPyTorchSurrogate(kernel, noise_std=0.1)
    fit = fit_of(surrogate)
    assert fit.posteriors[0].prior_std == pytest.approx(1.5, rel=1e-12)
    assert fit.posteriors[0].noise_std == pytest.approx(0.1 / fit.data.scale, rel=1e-12)
    assert surrogate.n_estimated(SQUARE) == 1  # the mean
    assert surrogate.guarantee == "model"


def test_bounds_that_are_left_to_the_optimizer_are_kept() -> None:
    """As BoTorch states them: GreaterThan(…, transform=None)."""
    floor = gpytorch.constraints.GreaterThan(0.75, transform=None, initial_value=0.9)
    kernel = ScaleKernel(RBFKernel(ard_num_dims=2, lengthscale_constraint=floor))
    lengthscales = fit_of(GPyTorchSurrogate(kernel)).posteriors[0].lengthscales
    assert lengthscales[0] == pytest.approx(0.75)  # sin(6x) is shorter


@pytest.mark.parametrize("n", [300, 1])
def test_few_and_many_observations(n: int) -> None:
    """Beyond 256 the hyperparameters come from a part of them; the posterior uses all."""
    points, values = data_for(SQUARE, n)
    fit = GPyTorchSurrogate().fit(points, values, categories=SQUARE, sign=1.0)
    _, std = fit.posteriors[0].mean_std(points)
    assert np.all(std <= fit.posteriors[0].noise_std * (1.0 + 1e-9))
    native = GaussianProcess(kernel=Matern52(), noise_std="learned", hyperparameters="map", mean=0.0)
    expected = native.fit(points, values, categories=SQUARE, sign=1.0).posteriors[0]
    assert fit.posteriors[0].noise_std == pytest.approx(expected.noise_std, rel=0.05)


def test_float32_finds_about_the_same_hyperparameters() -> None:
    fits = [fit_of(GPyTorchSurrogate(dtype=dtype), n=30).posteriors[0] for dtype in (torch.float64, torch.float32)]
    assert fits[1].lengthscales == pytest.approx(fits[0].lengthscales, rel=0.05)
    assert fits[1].noise_std == pytest.approx(fits[0].noise_std, rel=0.05)


@pytest.mark.parametrize(
    ("kernel", "family", "lengthscales"),
    [
        (ScaleKernel(RBFKernel()), SquaredExponential(), [0.6, 0.6]),
        (RBFKernel(ard_num_dims=2), SquaredExponential(), [0.6, 0.6]),
        (ScaleKernel(MaternKernel(nu=2.5)), Matern52(), [0.6, 0.6]),
        (MaternKernel(nu=2.5, ard_num_dims=2), Matern52(), [0.6, 0.6]),
        (ScaleKernel(MaternKernel(nu=1.5)), None, None),
        (ScaleKernel(RQKernel()), None, None),
        (ScaleKernel(PeriodicKernel()), None, None),
        (ScaleKernel(RBFKernel(active_dims=(0,))), None, None),
        (ScaleKernel(ScaleKernel(RBFKernel())), None, None),
        (AdditiveKernel(ScaleKernel(RBFKernel()), ScaleKernel(MaternKernel(nu=2.5))), None, None),
    ],
    ids=str,
)
def test_which_slopes_are_known(kernel: Kernel, family: Any, lengthscales: Any) -> None:
    for module in kernel.modules():
        if isinstance(module, Kernel) and module.has_lengthscale:
            module.lengthscale = torch.full_like(module.lengthscale, 0.6)
    posterior = fit_of(GPyTorchSurrogate(kernel.requires_grad_(False))).posteriors[0]
    assert posterior.kernel == family
    assert posterior.lengthscales.shape == (2,)
    if lengthscales is not None:
        assert posterior.lengthscales == pytest.approx(lengthscales, rel=1e-6)


@pytest.mark.parametrize("mean", [None, ConstantMean(), ZeroMean(), LinearMean(2)], ids=str)
@pytest.mark.parametrize("declared", [True, False])
def test_a_mean_with_a_slope_is_not_covered_by_that_of_the_kernel(mean: Any, declared: bool) -> None:
    """The objective is the mean plus a draw: its slope is known where the mean has none."""
    options: dict[str, Any] = {"noise_std": 0.1, "hyperparameters": "fixed"} if declared else {}
    posterior = fit_of(GPyTorchSurrogate(scaled("rbf", 2), mean_module=mean, **options)).posteriors[0]
    assert posterior.kernel == (None if isinstance(mean, LinearMean) else SquaredExponential())
    assert posterior.condition_on(np.full((1, 2), 0.5)).kernel == posterior.kernel


def test_a_subclass_may_be_another_kernel() -> None:
    class Steeper(RBFKernel):
        def forward(self, x1: Any, x2: Any, **params: Any) -> Any:
            return super().forward(3.0 * x1, 3.0 * x2, **params)

    assert fit_of(GPyTorchSurrogate(ScaleKernel(Steeper()))).posteriors[0].kernel is None


def test_categories_are_columns() -> None:
    """A kernel of one's own has a lengthscale for each of 1 + 3 + 1; the axis gets the shortest of its own."""
    scales = torch.tensor([[0.3, 0.9, 0.7, 0.8, 0.5]])
    kernel = ScaleKernel(RBFKernel(ard_num_dims=5))
    kernel.base_kernel.lengthscale = scales
    posterior = fit_of(GPyTorchSurrogate(kernel.requires_grad_(False)), MIXED).posteriors[0]
    assert posterior.lengthscales == pytest.approx([0.3, 0.7, 0.5], rel=1e-6)
    gradients = posterior.mean_std_gradient(np.array([[0.4, 1.0, 0.6]]))[2:]
    for gradient in gradients:
        assert gradient[0, 1] == 0.0
        assert np.all(gradient[0, [0, 2]] != 0.0)


@pytest.mark.skipif(not hasattr(gpytorch.kernels, "ConstantKernel"), reason="GPyTorch has had it since 1.13")
def test_a_constant_kernel_has_no_slope() -> None:
    posterior = fit_of(GPyTorchSurrogate(gpytorch.kernels.ConstantKernel())).posteriors[0]
    mean, std, mean_gradient, std_gradient = posterior.mean_std_gradient(np.random.default_rng(0).random((4, 2)))
    assert np.ptp(mean) == pytest.approx(0.0, abs=1e-12)
    assert np.all(std > 0.0)
    assert not np.any(mean_gradient)
    assert not np.any(std_gradient)


# ---- Means and declared numbers ----------------------------------------------------------------------------------


def test_a_linear_mean_is_learned() -> None:
    """Far from the data the posterior is the prior, and its mean the line that was in the data."""
    points = np.random.default_rng(0).random((30, 2))
    values = 5.0 * points[:, 0] - 2.0 * points[:, 1]
    surrogate = GPyTorchSurrogate(mean_module=LinearMean(2), noise_std=0.1)
    fit = surrogate.fit(points, values, categories=SQUARE, sign=1.0)
    far = np.array([[40.0, 40.0], [-20.0, 30.0]])
    mean = fit.data.offset + fit.data.scale * fit.posteriors[0].mean_std(far)[0]
    assert mean == pytest.approx(5.0 * far[:, 0] - 2.0 * far[:, 1], rel=0.05)
    assert surrogate.n_estimated(SQUARE) == 3 + 3  # ℓ_1, ℓ_2 and s; two slopes and an offset


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_declared_numbers_are_in_the_objectives_units(sign: float) -> None:
    """Against the native surrogate: kernel, noise and mean, also of a minimised objective."""
    kernel = scaled("matern", 2, lengthscales=[0.3, 0.7], prior_std=4.0)
    mean = ConstantMean()
    mean.constant = 1.5
    surrogate = GPyTorchSurrogate(kernel, mean_module=mean, noise_std=0.5, hyperparameters="fixed")
    assert surrogate.guarantee == "theorem"
    assert surrogate.n_estimated(SQUARE) == 0
    native = GaussianProcess(kernel=Matern52([0.3, 0.7], 16.0), noise_std=0.5, hyperparameters="fixed", mean=1.5)
    points, values = data_for(SQUARE, 12)
    where = np.random.default_rng(3).random((9, 2))
    moments = []
    for recipe in (native, surrogate):
        fit = recipe.fit(points, sign * values, categories=SQUARE, sign=sign)
        mean_there, std = fit.posteriors[0].mean_std(where)
        moments.append(np.array([fit.data.offset + fit.data.scale * mean_there, fit.data.scale * std]))
        assert fit.posteriors[0].prior_std * fit.data.scale == pytest.approx(4.0)
        assert fit.posteriors[0].noise_std * fit.data.scale == pytest.approx(0.5)
    assert moments[1] == pytest.approx(moments[0], abs=1e-6)


def test_a_declared_kernel_without_a_mean_has_mean_zero() -> None:
    kernel = scaled("rbf", 2, prior_std=3.0)
    fit = fit_of(GPyTorchSurrogate(kernel, noise_std=0.1, hyperparameters="fixed"))
    far = np.array([[90.0, 90.0]])
    assert fit.data.offset + fit.data.scale * fit.posteriors[0].mean_std(far)[0] == pytest.approx([0.0])


# ---- Models that are built ---------------------------------------------------------------------------------------


def test_a_built_model_is_its_kernel_and_noise() -> None:
    """The same kernel, given and built, with the noise prior of neither."""
    kernel = scaled("matern", 2)
    given = fit_of(GPyTorchSurrogate(kernel, noise_std=0.2))
    built = fit_of(GPyTorchSurrogate(lambda x, y: ExactGP(x, y, copy.deepcopy(kernel), ConstantMean()), noise_std=0.2))
    assert numbers_of(built) == pytest.approx(numbers_of(given), rel=1e-9)


@pytest.mark.parametrize("space", SPACES)
def test_botorchs_model(space: str) -> None:
    """Its Standardize divides by the deviation of n − 1, which is undone; its kernel is recognised, its mode found."""
    models = pytest.importorskip("botorch.models")
    categories = SPACES[space]
    points, values = data_for(categories, 20)
    surrogate = GPyTorchSurrogate(lambda x, y: models.SingleTaskGP(x, y))
    fit = surrogate.fit(points, 100.0 * values, categories=categories, sign=1.0)
    posterior = fit.posteriors[0]
    assert fit.data.scale == pytest.approx(100.0 * np.std(values, ddof=1))
    assert fit.data.offset + fit.data.scale * fit.data.values == pytest.approx(100.0 * values)
    assert posterior.kernel == SquaredExponential()
    assert posterior.prior_std == pytest.approx(1.0)  # BoTorch's default kernel has no scale
    columns = sum(max(c, 1) for c in categories)
    assert surrogate.n_estimated(categories) == columns + 2

    from botorch.fit import fit_gpytorch_mll

    x = torch.as_tensor(posterior._embedding(points))
    theirs = models.SingleTaskGP(x, torch.as_tensor(100.0 * values)[:, None])
    fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(theirs.likelihood, theirs))
    expected = theirs.posterior(x)
    mean, std = posterior.mean_std(points)
    assert fit.data.offset + fit.data.scale * mean == pytest.approx(expected.mean.detach().numpy()[:, 0], abs=5.0)
    ratio = fit.data.scale * std / expected.variance.sqrt().detach().numpy()[:, 0]
    assert ratio == pytest.approx(1.0, abs=0.2)


class Doubled(ExactGP):
    def forward(self, x: Any) -> Any:
        return super().forward(2.0 * x)


class Bent(ExactGP):
    def __init__(self, x: Any, y: Any, kernel: Kernel) -> None:
        super().__init__(x, y.exp(), kernel)


class Part(ExactGP):
    def __init__(self, x: Any, y: Any, kernel: Kernel) -> None:
        super().__init__(x[:3], y[:3], kernel)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RBFKernel(ard_num_dims=3), "the model does not take points with 2 columns"),
        (RBFKernel(active_dims=(5,)), "the model does not take points with 2 columns"),
        (ScaleKernel(RBFKernel(), batch_shape=torch.Size([2])), r"got shapes \(2, 16, 16\) and \(16,\)"),
        (LinearKernel(), "the prior variance must be the same everywhere"),
        (ScaleKernel(RBFKernel()) + LinearKernel(), "units of one prior deviation"),
        (lambda x, y: None, "it built NoneType"),
        (lambda x, y: ScaleKernel(RBFKernel()), "it built ScaleKernel"),
        (lambda x, y: Doubled(x, y, RBFKernel()), "leave out input transforms"),
        (lambda x, y: Bent(x, y, RBFKernel()), "must be a shift and a stretch"),
        (lambda x, y: Part(x, y, RBFKernel()), r"keep all 16 values as its targets, got shape \(3,\)"),
        (
            lambda x, y: ExactGP(
                x, y, RBFKernel(), likelihood=FixedNoiseGaussianLikelihood(torch.full_like(y[:, 0], 0.1))
            ),
            "must be a GaussianLikelihood, whose noise is one number, got FixedNoise",
        ),
    ],
)
def test_what_no_bound_can_be_computed_for(model: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        GPyTorchSurrogate(model).n_estimated(SQUARE)


def test_declared_models_do_not_transform_the_outcomes() -> None:
    models = pytest.importorskip("botorch.models")
    learned = GPyTorchSurrogate(lambda x, y: models.SingleTaskGP(x, y), noise_std=0.1, hyperparameters="fixed")
    with pytest.raises(ValueError, match="must not transform the outcomes"):
        learned.n_estimated(SQUARE)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"model": "matern"}, "model must be a kernel, or a function of x and y that builds a model, got 'matern'"),
        ({"model": RBFKernel}, "model must be a kernel, or a function"),
        ({"model": ExactGP(torch.zeros(1, 1), torch.zeros(1, 1), RBFKernel())}, "model must be a kernel, or a func"),
        ({"mean_module": 3.0}, "mean_module must be a GPyTorch mean, got 3.0"),
        ({"model": build_rq, "mean_module": ConstantMean()}, "leave out mean_module=ConstantMean"),
        ({"noise_std": -1.0}, "noise_std must be 'learned' or a finite number of at least 0, got -1.0"),
        ({"noise_std": math.nan}, "noise_std must be 'learned' or a finite number of at least 0, got nan"),
        ({"hyperparameters": "mcmc"}, "hyperparameters must be 'map' or 'fixed', got 'mcmc'"),
        ({"hyperparameters": "fixed"}, "needs a model with its numbers, and noise_std as a number; got model=None"),
        ({"hyperparameters": "fixed", "model": RBFKernel()}, "noise_std='learned'"),
        ({"device": "meta"}, "device must name a CPU or CUDA device, got 'meta'"),
        ({"device": "abacus"}, "device must name a CPU or CUDA device, got 'abacus'"),
        ({"dtype": torch.float16}, "dtype must be torch.float64 or torch.float32, got torch.float16"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        GPyTorchSurrogate(**arguments)


def test_a_known_noise_stands_in_for_any_likelihood() -> None:
    def build(x: Any, y: Any) -> ExactGP:
        return ExactGP(x, y, scaled("rbf", 2), likelihood=FixedNoiseGaussianLikelihood(torch.full_like(y[:, 0], 0.1)))

    fit = fit_of(GPyTorchSurrogate(build, noise_std=0.3))
    assert fit.posteriors[0].noise_std == pytest.approx(0.3 / fit.data.scale)
