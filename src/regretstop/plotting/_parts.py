"""What a bound is made of, and so what would make it smaller."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regretstop.certificate import Certificate

# What each part is, in the order in which they are stacked.
PARTS: Mapping[str, str] = {
    "exploration": "exploration: what may be better where little is known",
    "confidence": "confidence: by how much the trial itself may be worse than it looks",
    "noise": "noise: what stays, however the evaluations are placed",
    "grid": "grid: what may lie between the points of the proof's grid",
    "hills": "hills: what may be better, by the local maxima that are expected",
    "doubt": "doubt: what √β = 2 leaves open beyond that",
    "ceiling": "ceiling: what is left up to the best possible value",
}


@dataclass(frozen=True)
class BoundParts:
    """What the bound is made of, trial by trial.

    Attributes:
        trials: Trial numbers, in order.
        parts: For each part that there is, by its name in `PARTS`, its size after each of the trials, in the
            objective's units; NaN where there is no bound. They add up to the bound.
        epsilon: ε of the rule.
        rule: Name of the rule.
        objective: What the objective's values are, for the legend.
    """

    trials: Sequence[int]
    parts: Mapping[str, Sequence[float]]
    epsilon: float
    rule: str
    objective: str = "objective"

    @property
    def shares(self) -> dict[str, list[float]]:
        """Each part over the bound, which is how they are drawn: a bound may fall by a factor of a thousand."""
        columns = list(zip(*self.parts.values(), strict=True))
        totals = [math.fsum(column) for column in columns]
        return {
            name: [part / total if total > 0.0 else math.nan for part, total in zip(sizes, totals, strict=True)]
            for name, sizes in self.parts.items()
        }

    def words(self, name: str) -> str:
        """Return what the legend says of a part: what it is, and its size in the end."""
        known = [size for size in self.parts[name] if math.isfinite(size)]
        return f"{PARTS[name]} ({known[-1]:.3g} in the end)"


def parts_of(certificate: Certificate) -> dict[str, float] | None:
    """Return the parts of a certificate's bound, which add up to it, in the objective's units.

    With σ_floor, below which no deviation can be however the evaluations are placed (paper, Lemma B.4):

        noise        (√α + √η) σ_floor
        confidence   √η (σ(x) − σ_floor), x the query of `UCBbr` and the certified trial of `OptimalityGap`
        grid         t^(−s), or h
        exploration  what is left

    A bound that is counted does not add up widths, which leaves two parts:

        hills        the level above which no more than δ local maxima are expected
        doubt        by how much the paper's experiment is above it, which estimated hyperparameters have to pass, too

    Where less is left up to the declared best possible value, that is the bound:

        ceiling      all of it

    Returns:
        By their names in `PARTS`; None where the bound is infinite, or its rule does not say what it is made of.
    """
    if certificate.maximum == "declared" and math.isfinite(certificate.bound):
        return {"ceiling": certificate.bound}
    if "counted" in certificate.terms and math.isfinite(certificate.bound):
        hills = min(float(certificate.terms["counted"]), certificate.bound)
        return {"hills": hills, "doubt": certificate.bound - hills}
    names = ("sqrt_alpha", "sqrt_eta", "posterior_std", "std_floor", "grid_error")
    if not math.isfinite(certificate.bound) or any(name not in certificate.terms for name in names):
        return None
    sqrt_alpha, sqrt_eta, std, floor, grid = (float(certificate.terms[name]) for name in names)
    parts = {
        "confidence": sqrt_eta * max(std - floor, 0.0),
        "noise": (sqrt_alpha + sqrt_eta) * floor,
        "grid": grid,
    }
    # Rounding may leave less than nothing.
    return {"exploration": max(certificate.bound - math.fsum(parts.values()), 0.0), **parts}


def bound_parts_of(
    trials: Sequence[int], certificates: Sequence[Certificate | None], *, objective: str = "objective"
) -> BoundParts:
    """Return what the bounds of the certificates are made of, each after its trial.

    Args:
        trials: Trial numbers.
        certificates: One for each of them, of one rule; None where there is none.
        objective: What the objective's values are.

    Raises:
        ValueError: If none of them says what its bound is made of.
    """
    found = [None if certificate is None else parts_of(certificate) for certificate in certificates]
    last = next((c for c in reversed(certificates) if c is not None), None)
    if last is None or not any(found):
        rule = "" if last is None else f" of {last.rule}"
        raise ValueError(
            f"no certificate{rule} says what its bound is made of: a finite bound of UCBbr or OptimalityGap does"
        )
    names = [name for name in PARTS if any(parts is not None and name in parts for parts in found)]
    return BoundParts(
        trials=trials,
        parts={name: [math.nan if parts is None else parts.get(name, 0.0) for parts in found] for name in names},
        epsilon=last.epsilon,
        rule=last.rule,
        objective=objective,
    )
