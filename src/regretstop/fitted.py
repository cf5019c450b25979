"""A fit with the searches of its posteriors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regretstop.maximize import Search
from regretstop.space import Space
from regretstop.surrogate import Fit

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
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
    searches: tuple[Search, ...]
    chooser: Search

    @classmethod
    def of(cls, fit: Fit, space: Space, inside: Array, seed: int) -> "Fitted":
        """Return the fit with searches; those of samples of the hyperparameters share the chooser's candidates."""
        if fit.mode is None:
            searches = tuple(Search(posterior, space, inside, seed) for posterior in fit.posteriors)
            return cls(fit, space, inside, seed, searches, searches[0])
        chooser = Search(fit.mode, space, inside, seed)
        searches = tuple(Search(posterior, space, inside, seed, like=chooser) for posterior in fit.posteriors)
        return cls(fit, space, inside, seed, searches, chooser)

    @property
    def has_noise(self) -> bool:
        """Whether the surrogate was not told that there is none: a noise that it estimates is positive."""
        return any(posterior.noise_std > 0.0 for posterior in self.fit.posteriors)

    def keeping_away(self, failed: Array, pending: Array, *, all_posteriors: bool) -> "Fitted":
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
        return Fitted.of(pretended, self.space, self.inside, self.seed)
