"""Rule AcquisitionThreshold: stop when the largest acquisition value falls below a threshold (Nguyen et al. 2017)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regretstop.rules._estimate import Estimate
from regretstop.rules._heuristic import Heuristic
from regretstop.search import How, LogExpectedImprovement
from regretstop.snapshot import Snapshot
from regretstop.statement import Measure


@dataclass(frozen=True)
class AcquisitionThreshold(Heuristic):
    """The largest expected improvement on the evaluated trial x̂ with the highest posterior mean.

        max_x E[max(f(x) − μ(x̂), 0)]

    Nguyen et al. 2017 (*Regret for Expected Improvement over the Best-Observed Value and Stopping Condition*) stop at
    a threshold of their choice. Wilson 2024 uses 1e-5 on the in-sample knowledge gradient, which is this quantity where
    there is no noise: hence the highest posterior mean, not the best observed value, is what has to be improved on.
    Threshold and value are in the objective's units here, as ε is everywhere (docs/theory.md, The rules of others).

    It is no bound on the regret: many points that improve a little each, or one that improves much with little
    probability, keep it small.

    Args:
        epsilon: The threshold, in the objective's units.
        delta: δ in (0, 1), of the certified gap that stands beside it; the rule itself has no probability.

    Raises:
        ValueError: If an argument is out of its range.
    """

    measure: ClassVar[Measure] = "expected improvement"
    subject: ClassVar[str] = "the largest expected improvement"

    epsilon: float = 1e-5  # Wilson 2024

    def estimate(self, snapshot: Snapshot) -> Estimate:
        """Return the worst over the posteriors at the trial whose mean is the highest on average."""
        at_data = snapshot.at_data()
        incumbent = int(np.argmax(np.mean([mean for mean, _ in at_data], axis=0)))
        found: list[tuple[float, How]] = []
        for (mean, std), maximizer in zip(at_data, snapshot.model.maximizers, strict=True):
            acquisition = LogExpectedImprovement(float(mean[incumbent]))
            maximum = maximizer.maximize(acquisition)
            found.append((max(maximum.value, float(np.max(acquisition(mean, std)))), maximum.how))
        log_value, how = max(found, key=lambda pair: pair[0])
        # A warp is concave: at its slope at x̂ an improvement is no less than it is.
        unit = snapshot.model.units.slope(snapshot.mean_of(incumbent))
        terms = {"log_improvement": log_value + math.log(unit)}
        return Estimate(math.exp(log_value) * unit, incumbent, how, terms)
