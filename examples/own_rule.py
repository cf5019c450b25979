"""A stopping rule of your own, in full: what two deviations leave to be gained."""

from dataclasses import dataclass

import numpy as np

from regretstop import Estimate, Float, Heuristic, Snapshot, Space, UpperConfidenceBound, minimize


@dataclass(frozen=True)
class TwoDeviations(Heuristic):
    """max_x [μ(x) + 2σ(x)] − μ(x̂), x̂ the evaluated trial with the highest posterior mean.

    Several posteriors, one per sample of the hyperparameters, share x̂, and the worst of
    them counts. Like any interval of a fixed width it proves nothing.
    """

    def estimate(self, snapshot: Snapshot) -> Estimate:
        """Return the gap in the objective's units, and x̂."""
        points, posteriors = snapshot.data.points, snapshot.model.posteriors
        means = np.array([posterior.mean_std(points)[0] for posterior in posteriors])
        incumbent = int(np.argmax(np.mean(means, axis=0)))
        maxima = [search.maximize(UpperConfidenceBound(2.0)) for search in snapshot.model.maximizers]
        gap = max(best.value - mean for best, mean in zip(maxima, means[:, incumbent], strict=True))
        return Estimate(gap * snapshot.model.scale, incumbent, maxima[0].how, {"deviations": 2.0})


if __name__ == "__main__":
    square = Space({"x": Float(-1.0, 2.0)})
    rule = TwoDeviations(epsilon=0.01)
    print(minimize(lambda p: p["x"] ** 2, square, rule=rule, max_trials=50, seed=0).certificate)
