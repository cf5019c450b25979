# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
"""The surrogate; torch and gpytorch are imported when the first one is built."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from regretstop.array import Array
from regretstop.model import Fit

if TYPE_CHECKING:
    import torch
    from gpytorch.kernels import Kernel
    from gpytorch.means import Mean

    from regretstop_gpytorch._modules import Build


class GPyTorchSurrogate:
    """An exact Gaussian process with any GPyTorch kernel, or the prior of any exact GPyTorch or BoTorch model.

        GPUCB(space, surrogate=GPyTorchSurrogate())                                          # the native model
        GPUCB(space, surrogate=GPyTorchSurrogate(ScaleKernel(RQKernel())))                   # a kernel
        GPUCB(space, surrogate=GPyTorchSurrogate(lambda x, y: SingleTaskGP(x, y)))           # a model

    The kernel sees the unit cube: one column per numeric parameter, and per category one column that is √½ or 0. Its
    values, when they are estimated, have mean 0 and deviation 1. What is given is copied and never modified. Estimated
    hyperparameters are the mode of marginal likelihood times the priors that are registered, found by L-BFGS-B from
    the values they have. Lengthscales, outputscales and noise without a prior get the native one, and a free constant
    mean without a prior is integrated out. The same observations give the same fit.

    The certified gap on a continuous axis needs to know how steep draws of the kernel are. It is known for
    `RBFKernel` and `MaternKernel(nu=2.5)`, scaled or not, with a mean that is constant. With any other kernel or mean a
    finite space is certified, and the rule UCBbr where its a and b are declared; else the bound is infinite. The prior
    variance must be the same everywhere.

    Args:
        model: A kernel; or a function of x, shape (n, D), and y, shape (n, 1), that builds an exact GP. None for the
            native Matérn-5/2 kernel with its priors.
        mean_module: The mean, for a kernel or None. It is that of the objective where everything is declared, and of
            the standardised and maximised values where it is estimated. None for a constant that is integrated out,
            or 0 where everything is declared.
        noise_std: Deviation of the observation noise in the objective's units, or "learned".
        hyperparameters: "map" estimates them; "fixed" takes the model's numbers, in the objective's units, as they are,
            which is the theorem's setting: a function that builds it must then not look at y.
        device: Where to compute; CUDA where there is one if None, else the CPU.
        dtype: Precision of the search for hyperparameters, float64 if None. float32 is faster on many GPUs; the
            posterior, on which certificates rest, is computed in float64.

    Raises:
        ValueError: If an argument is out of its range, or the arguments do not go together.
    """

    def __init__(
        self,
        model: "Kernel | Build | None" = None,
        *,
        mean_module: "Mean | None" = None,
        noise_std: float | Literal["learned"] = "learned",
        hyperparameters: Literal["map", "fixed"] = "map",
        device: "str | torch.device | None" = None,
        dtype: "torch.dtype | None" = None,
    ) -> None:
        from regretstop_gpytorch._recipe import Recipe

        self._recipe = Recipe(
            model=model,
            mean_module=mean_module,
            noise_std=noise_std,
            hyperparameters=hyperparameters,
            device=device,
            dtype=dtype,
        )

    @property
    def guarantee(self) -> Literal["theorem", "model"]:
        """What its certificates are: "theorem" for declared hyperparameters, "model" for estimated ones."""
        return "theorem" if self._recipe.is_declared else "model"

    def n_estimated(self, categories: NDArray[np.intp]) -> int:
        """Return how many numbers a fit estimates: the free parameters of the model, and the mean.

        Args:
            categories: Number of categories per axis of the space, 0 for a numeric axis; shape (d,).

        Raises:
            ValueError: If the model does not go with such a space, or no bound can be computed for it.
        """
        return self._recipe.n_estimated(categories)

    def fit(self, points: Array, values: Array, *, categories: NDArray[np.intp], sign: float) -> Fit:
        """Return the posterior given observations.

        Args:
            points: Encoded points, shape (n, d), n ≥ 1; repeats allowed.
            values: Values of the maximised objective, finite, in its own units, shape (n,).
            categories: Number of categories per axis of the space, 0 for a numeric axis; shape (d,).
            sign: 1, or −1 where the values are those of the objective times −1.

        Raises:
            ValueError: If no bound can be computed for the model.
        """
        return self._recipe.fit(points, values, categories, sign)
