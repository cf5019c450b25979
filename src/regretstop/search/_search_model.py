"""A fit with the searches of its posteriors."""

from dataclasses import dataclass

import numpy as np

from regretstop.array import Array
from regretstop.model import Fit
from regretstop.search._maximize import Maximizer
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
    """

    fit: Fit
    space: Space
    inside: Array
    seed: int
    maximizers: tuple[Maximizer, ...]
    chooser: Maximizer

    @classmethod
    def of(cls, fit: Fit, space: Space, inside: Array, seed: int) -> "SearchModel":
        """Return the fit with searches; those of samples of the hyperparameters share the chooser's candidates."""
        if fit.mode is None:
            maximizers = tuple(Maximizer(posterior, space, inside, seed) for posterior in fit.posteriors)
            return cls(fit, space, inside, seed, maximizers, maximizers[0])
        chooser = Maximizer(fit.mode, space, inside, seed)
        maximizers = tuple(Maximizer(posterior, space, inside, seed, like=chooser) for posterior in fit.posteriors)
        return cls(fit, space, inside, seed, maximizers, chooser)

    @property
    def has_noise(self) -> bool:
        """Whether the surrogate was not told that there is none: a noise that it estimates is positive."""
        return any(posterior.noise_std > 0.0 for posterior in self.fit.posteriors)

    def keeping_away(self, failed: Array, pending: Array, *, all_posteriors: bool) -> "SearchModel":
        """Return what the model would be if evaluations without a value had one, so that the next one is elsewhere.

        Args:
            failed: Encoded points, shape (k, d); each counts as the worst value seen, or the same data would lead to
                the same failure for ever.
            pending: Encoded points, shape (m, d); each comes out as expected.
            all_posteriors: Whether the posteriors of the fit are needed, or the chooser's only.
        """
        if not len(failed) and not len(pending):
            return self
        worst = np.full(len(failed), np.min(self.fit.data.values))
        fit = self.fit if all_posteriors else Fit((self.chooser.posterior,), self.fit.data)
        pretended = fit.map(lambda posterior: posterior.condition_on(failed, worst).condition_on(pending))
        return SearchModel.of(pretended, self.space, self.inside, self.seed)
