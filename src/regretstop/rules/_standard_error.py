"""ε from the noise: the standard error of the best trial's cross-validation scores."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from regretstop.history import Observation
from regretstop.rules._evaluations import Evaluations

if TYPE_CHECKING:
    from regretstop.rules._base import Rule

STANDARD_ERROR: Final = "standard error"
Epsilon = float | Literal["standard error"]


def standard_error(scores: Sequence[float]) -> float:
    """Return the standard error of the mean of cross-validation scores, for all data that could have been drawn.

        √((1/k + 1/(k − 1)) s²),   s² = Σ (score − mean)²/(k − 1)

    The folds share most of their training data, so their scores are not independent and s/√k is too small. 1/k +
    n_test/n_train, here 1/(k − 1), is the correction of Nadeau and Bengio 2003 (*Inference for the Generalization
    Error*). Optuna's `CrossValidationErrorEvaluator` has the same factor, and divides the squares by k.

    Args:
        scores: Of k ≥ 2 folds of one k-fold cross-validation.

    Returns:
        The standard error; NaN where a score is not finite, or there are fewer than two.
    """
    k = len(scores)
    if k < 2 or not np.all(np.isfinite(scores)):
        return math.nan
    return math.sqrt(1.0 / k + 1.0 / (k - 1)) * float(np.std(scores, ddof=1))


def with_epsilon(
    rule: "Rule", observations: Sequence[Observation], sign: float
) -> "tuple[Rule, int | None, str | None]":
    """Return a rule whose ε is a number, the trial that it is the standard error of, and why there is none, in words.

    Args:
        rule: A single rule; one that has a number comes back as it is.
        observations: All evaluations that ended.
        sign: Their values times the sign are maximised.
    """
    if rule.epsilon != STANDARD_ERROR:
        return rule, None, None
    best = Evaluations(observations, sign).best
    if best is None:
        return rule, None, None  # too few observations, which the rule says itself
    if best.standard_error is None:
        return rule, None, f"trial {best.number}, the best so far, has reported no cross-validation scores for ε"
    if not math.isfinite(best.standard_error):
        return rule, None, f"the cross-validation scores of trial {best.number}, the best so far, are not all finite"
    if best.standard_error == 0.0:
        return rule, None, f"the cross-validation scores of trial {best.number}, the best so far, do not differ: ε is 0"
    return replace(rule, epsilon=best.standard_error), best.number, None
