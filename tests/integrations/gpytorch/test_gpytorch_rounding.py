"""Rounding must not make a certificate here either: clustered points, against arithmetic of 60 digits."""

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from regretstop_gpytorch import GPyTorchSurrogate

from regretstop import Matern52
from tests.exact import ExactPosterior
from tests.model.test_rounding import LEAST_STD, Clustered, clustered, queries_for


def kernel_of(case: Clustered) -> ScaleKernel:
    family = MaternKernel(nu=2.5) if case.kernel is Matern52 else RBFKernel()
    family = type(family)(ard_num_dims=len(case.lengthscales)).double()
    family.lengthscale = torch.as_tensor(case.lengthscales)
    scaled = ScaleKernel(family).double()
    scaled.outputscale = torch.tensor(1.0, dtype=torch.float64)
    return scaled


@pytest.mark.parametrize("first", range(0, 48, 16))
def test_no_deviation_is_below_the_exact_one(first: int) -> None:
    for seed in range(first, first + 16):
        case = clustered(seed)
        mean = gpytorch.means.ZeroMean()
        surrogate = GPyTorchSurrogate(
            kernel_of(case), mean_module=mean, noise_std=case.noise_std, hyperparameters="fixed", device="cpu"
        )
        fit = surrogate.fit(case.points, case.values, categories=np.zeros(len(case.lengthscales), int), sign=1.0)
        posterior = fit.posteriors[0]
        queries = queries_for(case.points, seed)
        exact = ExactPosterior(
            case.kernel.__name__,
            case.points,
            case.values,
            lengthscales=posterior.lengthscales,
            prior_std=1.0,
            noise_variances=np.full(len(case.points), case.noise_std**2 + posterior.jitter),
            mean=0.0,
        )
        assert np.all(posterior.mean_std(queries)[1] >= exact.mean_std(queries)[1] - LEAST_STD)
