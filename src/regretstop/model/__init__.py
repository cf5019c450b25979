"""The model: what observations say of the objective.

In come encoded points and values of the maximised objective; out goes a `Fit`: posteriors with mean and deviation at
any point, samples of whole paths, and how far the model was off before.
"""

from regretstop.model._gaussian_process import FEWEST_SAMPLED, GaussianProcess
from regretstop.model._hyperparameters import MOST_NOISE, thinned
from regretstop.model._kernels import Embedding, Kernel, Matern52, SquaredExponential
from regretstop.model._lagrangian import Constraint, Drawable, Lagrangian, Multiplier
from regretstop.model._likelihood import (
    LENGTHSCALE_PRIOR,
    NOISE_STD_FLOOR,
    NOISE_STD_PRIOR,
    PRIOR_STD_PRIOR,
    HyperparameterDensity,
)
from regretstop.model._linalg import MOST_ROUNDING, jitters
from regretstop.model._model_check import ModelCheck
from regretstop.model._paths import Paths
from regretstop.model._plateau import Plateau, all_equal, plateau_of
from regretstop.model._posterior import GaussianProcessPosterior, at_least_the_floor, variance_floor
from regretstop.model._protocols import Draws, Fit, HasJets, HasPaths, Posterior, Revisable, Surrogate, Treatment
from regretstop.model._repeats import merge_duplicates, take_back
from regretstop.model._sampling import SamplingReport
from regretstop.model._slack import constraints_of
from regretstop.model._standardize import Standardized, standardize
from regretstop.model._units import Units
from regretstop.model._warp import LogWarp

__all__ = [
    "FEWEST_SAMPLED",
    "LENGTHSCALE_PRIOR",
    "MOST_NOISE",
    "MOST_ROUNDING",
    "NOISE_STD_FLOOR",
    "NOISE_STD_PRIOR",
    "PRIOR_STD_PRIOR",
    "Constraint",
    "Drawable",
    "Draws",
    "Embedding",
    "Fit",
    "GaussianProcess",
    "GaussianProcessPosterior",
    "HasJets",
    "HasPaths",
    "HyperparameterDensity",
    "Kernel",
    "Lagrangian",
    "LogWarp",
    "Matern52",
    "ModelCheck",
    "Multiplier",
    "Paths",
    "Plateau",
    "Posterior",
    "Revisable",
    "SamplingReport",
    "SquaredExponential",
    "Standardized",
    "Surrogate",
    "Treatment",
    "Units",
    "all_equal",
    "at_least_the_floor",
    "constraints_of",
    "jitters",
    "merge_duplicates",
    "plateau_of",
    "standardize",
    "take_back",
    "thinned",
    "variance_floor",
]
