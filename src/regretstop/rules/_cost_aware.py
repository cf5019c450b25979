"""Rule CostAware: stop when no evaluation is expected to gain more than it costs (Xie et al. 2025)."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from regretstop.array import Array
from regretstop.checks import as_float, check_between
from regretstop.model import GaussianProcess
from regretstop.rules._estimate import Estimate, verdict
from regretstop.rules._heuristic import Heuristic
from regretstop.search import LogExpectedImprovement, largest_rated
from regretstop.snapshot import Snapshot
from regretstop.statement import Measure

Cost = Literal["duration"] | Callable[[Mapping[str, Any]], float]

# Below this a duration is the clock's, and not the evaluation's.
_LEAST_SECONDS = 1e-3
_NO_DURATIONS = "no evaluation has said how long it took, and the cost is its duration"


@dataclass(frozen=True)
class CostAware(Heuristic):
    """The largest expected improvement on the best trial per unit of what an evaluation costs.

        max_x E[max(f(x) − μ(x̂), 0)] / c(x) < price

    It says the same as `E[max(f(x) − μ(x̂), 0)] < price · c(x) for every x`: no evaluation is worth its cost. That is
    the stopping rule of Xie et al. 2025 (*Cost-aware Stopping for Bayesian Optimization*), for expected improvement per
    cost and for the Gittins index of Pandora's box alike (docs/theory.md, What continuing buys). x̂ is the evaluated
    trial with the highest posterior mean. Where all evaluations cost the same it is `AcquisitionThreshold(price · c)`.

    It looks one evaluation ahead, and bounds no regret.

    Args:
        price: What a unit of cost is worth, in the objective's units: with durations, the gain that makes a second of
            evaluation worth while. With 1e-5 of accuracy a second, an hour has to bring 0.036.
        cost: "duration", the seconds that evaluations took, as Optuna and Tune record them and `GPUCB` sees them
            between `ask` and `tell`, which a Gaussian process of their logarithm predicts elsewhere (until there are
            enough to fit one, their mean); or a function of the parameters, positive, in any unit. What that raises is
            a ValueError of whoever asks; with a framework the search goes on, and the certificate has it as its reason.
        delta: δ in (0, 1), of the certified gap that stands beside it; the rule itself has no probability.
        schedule: When tests are made.

    Raises:
        ValueError: If an argument is out of its range.
    """

    measure: ClassVar[Measure] = "improvement per cost"
    subject: ClassVar[str] = "the largest expected improvement per unit of cost"

    epsilon: float = field(init=False, repr=False, default=0.0)  # the price
    delta: float = field(default=0.05, kw_only=True)
    price: float
    cost: Cost = "duration"

    def __post_init__(self) -> None:
        """Check the arguments."""
        check_between("price", self.price, 0)
        if self.cost != "duration" and not callable(self.cost):
            raise ValueError(f"cost must be 'duration' or a function of the parameters, got {self.cost!r}")
        object.__setattr__(self, "epsilon", float(self.price))
        super().__post_init__()

    def with_points(self, read: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> "CostAware":
        """Return the rule with a cost that is asked for the parameters as the user knows them."""
        return self if isinstance(self.cost, str) else replace(self, cost=_CostOf(self.cost, read))

    def obstacle(self, snapshot: Snapshot) -> str | None:
        """Return why nothing can be said, in words; None if something can."""
        obstacle = super().obstacle(snapshot)
        if obstacle is None and self.cost == "duration" and not np.any(np.isfinite(snapshot.data.seconds)):
            return _NO_DURATIONS
        return obstacle

    def estimate(self, snapshot: Snapshot) -> Estimate:
        """Return the worst over the posteriors at the trial whose mean is the highest on average."""
        at_data = [posterior.mean_std(snapshot.data.points)[0] for posterior in snapshot.model.posteriors]
        incumbent = int(np.argmax(np.mean(at_data, axis=0)))
        log_cost = self._log_cost(snapshot)
        found: list[tuple[float, Array]] = []
        for mean, maximizer in zip(at_data, snapshot.model.maximizers, strict=True):
            acquisition = LogExpectedImprovement(float(mean[incumbent]))
            found.append(largest_rated(maximizer, acquisition, lambda points: -log_cost(points)))
        log_ratio, point = max(found, key=lambda pair: pair[0])
        unit = snapshot.model.units.slope(snapshot.mean_of(incumbent))
        cost = math.exp(float(log_cost(point[None])[0]))
        bound = math.exp(log_ratio) * unit
        terms = {"improvement": bound * cost, "cost": cost}
        how = snapshot.model.maximizers[0].how
        return Estimate(bound, incumbent, how, terms, verdict(bound, self.price, self.subject, "the price"))

    def _log_cost(self, snapshot: Snapshot) -> Callable[[Array], Array]:
        """Return log c as a function of encoded points, shape (m, d), with values of shape (m,)."""
        cost, space = self.cost, snapshot.space
        if isinstance(cost, str):
            return _log_duration(snapshot)

        function, read = (cost.cost, cost.read) if isinstance(cost, _CostOf) else (cost, dict[str, Any])

        def declared(points: Array) -> Array:
            return np.array([_log_of(function, read(space.decode(point))) for point in points])

        return declared


@dataclass(frozen=True)
class _CostOf:
    """A declared cost of what is read off a point."""

    cost: Callable[[Mapping[str, Any]], float]
    read: Callable[[Mapping[str, Any]], Mapping[str, Any]] = field(repr=False)

    def __call__(self, point: Mapping[str, Any]) -> float:
        return self.cost(self.read(point))


def _log_of(cost: Callable[[Mapping[str, Any]], float], params: Mapping[str, Any]) -> float:
    """Return the log of a declared cost.

    Raises:
        ValueError: If it is not positive and finite, or whatever else the function raises: a search that an adapter
            asks for a certificate goes on with the reason.
    """
    try:
        found = cost(params)
    except Exception as error:
        raise ValueError(
            f"cost must be a function of the parameters, but raised {error!r} for {dict(params)!r}"
        ) from error
    value = as_float("cost", found)
    if not 0.0 < value < math.inf:
        raise ValueError(f"cost must be positive and finite, got {value!r} for {dict(params)!r}")
    return math.log(value)


def _log_duration(snapshot: Snapshot) -> Callable[[Array], Array]:
    """Return log E[c] of a log-normal duration, by a Gaussian process of its logarithm: m + v/2."""
    known = np.isfinite(snapshot.data.seconds)
    points = snapshot.data.points[known]
    logs = np.log(np.maximum(snapshot.data.seconds[known], _LEAST_SECONDS))
    recipe, categories = GaussianProcess(), snapshot.space.categories
    fit = None
    if len(logs) > recipe.n_estimated(categories):
        fit = recipe.fit(points, logs, categories=categories, sign=1.0)
    if fit is None or not fit.data.has_spread:
        mean_cost = math.log(float(np.mean(np.exp(logs))))
        return lambda points: np.full(len(points), mean_cost)
    posterior, scale, offset = fit.posteriors[0], fit.data.scale, fit.data.offset

    def modelled(points: Array) -> Array:
        mean, std = posterior.mean_std(points)
        variance = scale**2 * (np.square(std) + posterior.noise_std**2)
        return offset + scale * mean + 0.5 * variance

    return modelled
