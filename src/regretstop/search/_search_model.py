"""A fit with the searches of its posteriors."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regretstop.array import Array
from regretstop.model import Constraint, Drawable, Fit, Posterior
from regretstop.search._maximize import Maximizer
from regretstop.search._relaxation import relaxation
from regretstop.spaces import Space


@dataclass(frozen=True)
class SearchModel:
    """A fit with the searches of its posteriors.

    Attributes:
        fit: The fit.
        space: The search space.
        inside: Encoded points of the data in the space, shape (n, d).
        seed: Of the searches.
        searches: One per posterior of the fit.
        chooser: The search of the posterior that chooses the next point, at the mode of the hyperparameters.
        constraints: What is known of the constraints, of those that were modelled.
        found: Whether a feasible point is known.
    """

    fit: Fit
    space: Space
    inside: Array
    seed: int
    maximizers: tuple[Maximizer, ...]
    chooser: Maximizer
    constraints: tuple[Constraint, ...] = ()
    found: bool = True

    @classmethod
    def of(cls, fit: Fit, space: Space, inside: Array, seed: int) -> "SearchModel":
        """Return the fit with searches; those of samples of the hyperparameters share the chooser's candidates."""
        if fit.mode is None:
            maximizers = tuple(Maximizer(posterior, space, inside, seed) for posterior in fit.posteriors)
            return cls(fit, space, inside, seed, maximizers, maximizers[0])
        chooser = Maximizer(fit.mode, space, inside, seed)
        maximizers = tuple(Maximizer(posterior, space, inside, seed, like=chooser) for posterior in fit.posteriors)
        return cls(fit, space, inside, seed, maximizers, chooser)

    def over_samples(self) -> "SearchModel | None":
        """Return the same over samples of the hyperparameters; None where it is, or there are none."""
        if self.fit.over_samples is None:
            return None
        doubted = self.fit.over_samples()
        if doubted.mode is None:
            return None
        # In the same units: which say how values were warped, too.
        model = SearchModel.of(replace(doubted, data=self.fit.data), self.space, self.inside, self.seed)
        return replace(model, constraints=self.constraints, found=self.found)

    @property
    def has_noise(self) -> bool:
        """Whether the surrogate was not told that there is none: a noise that it estimates is positive."""
        return any(posterior.noise_std > 0.0 for posterior in self.fit.posteriors)

    @cached_property
    def relaxed(self) -> "SearchModel":
        """The searches of Lagrangians, which are no less than the objective wherever the constraints are met."""
        return self._with(self._relaxed) if self.constraints else self

    @property
    def steered(self) -> "SearchModel":
        """As `relaxed`, to choose the next point by: turned away from where a constraint is surely violated."""
        return self._with(self._steered) if self.constraints else self

    def _steered(self, maximizer: Maximizer) -> Maximizer:
        return self._relaxed(maximizer, steers=True)

    def _with(self, relaxed: Callable[[Maximizer], Maximizer]) -> "SearchModel":
        maximizers = tuple(map(relaxed, self.maximizers))
        chooser = maximizers[0] if self.chooser is self.maximizers[0] else relaxed(self.chooser)
        return replace(self, maximizers=maximizers, chooser=chooser, constraints=())

    def _relaxed(self, maximizer: Maximizer, *, steers: bool = False) -> Maximizer:
        objective = maximizer.posterior
        assert isinstance(objective, Drawable)  # or no constraint would have been modelled
        lagrangian = relaxation(objective, self.constraints, maximizer.candidates, found=self.found, steers=steers)
        return Maximizer(lagrangian, self.space, self.inside, self.seed)

    def keeping_away(self, failed: Array, pending: Array, *, all_posteriors: bool) -> "SearchModel":
        """Return what the model would be if evaluations without a value had one, so that the next one is elsewhere.

        Args:
            failed: Encoded points, shape (k, d); each counts as what is expected there, moved by 1 − 1/k of the way to
                the worst value seen. A single one may be an accident; of many the same data would lead to the same
                failure for ever.
            pending: Encoded points, shape (m, d); each comes out as expected.
            all_posteriors: Whether the posteriors of the fit are needed, or the chooser's only.
        """
        if not len(failed) and not len(pending):
            return self
        worst = float(np.min(self.fit.data.values))
        fit = self.fit if all_posteriors else Fit((self.chooser.posterior,), self.fit.data)

        def pretended_of(posterior: Posterior) -> Posterior:
            if len(failed):
                posterior = posterior.condition_on(failed, _moved(posterior.mean_std(failed)[0], worst))
            return posterior.condition_on(pending)

        pretended = fit.map(pretended_of)
        model = SearchModel.of(pretended, self.space, self.inside, self.seed)
        tried = np.vstack([failed, pending])
        constraints = tuple(constraint.keeping_away(tried) for constraint in self.constraints)
        return replace(model, constraints=constraints, found=self.found)


def _moved(expected: Array, worst: float) -> Array:
    """Return values between those that are expected and the worst one: the nearer to it, the more there are."""
    return expected + (1.0 - 1.0 / len(expected)) * (worst - expected)
