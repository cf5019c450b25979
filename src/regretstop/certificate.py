"""The certificate: what a rule concluded from the data, as numbers and in words."""

import math
import numbers
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Literal, Self, get_args

Guarantee = Literal["theorem", "model", "heuristic"]
"""What a bound is: proven, proven given the fitted model, or without proof at these settings."""

Measure = Literal["regret", "regret change", "expected improvement"]
"""What a bound is about: how much better than a trial the optimum is, or a number that only signals it."""

_VERSION = 1
_QUANTITY = {
    "regret": "the regret of",
    "regret change": "the last change of the expected regret at",
    "expected improvement": "the expected improvement on",
}
_NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_ASSUMPTION = {
    "theorem": "given the kernel and the noise you declared",
    "model": "given the fitted model (its hyperparameters were estimated from the data)",
}


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """How far the incumbent can be from the optimum, and whether that is close enough to stop.

    `print(certificate)` says it in words. Certificates are equal if all their fields are.

    Attributes:
        rule: Class name of the rule, such as "UCBbr".
        bound: Upper bound on what `measure` names, in the objective's units; inf if nothing can be said.
        epsilon: ε, the tolerance asked for, in the objective's units.
        delta: δ, the risk asked for: the probability that the bound may fail.
        guarantee: What the bound is: "theorem" (the user declared kernel and noise, and every
            precondition held; no noise is enough where every point of the space was evaluated),
            "model" (the same, given estimated hyperparameters) or "heuristic" (no proof at these
            settings).
        incumbent: Number of the certified trial; None if there is none.
        incumbent_value: Its observed value, in the objective's own sign and units.
        n_observations: Number of completed observations that entered the fit.
        n_excluded: Number of observations that did not: failed, not finite or outside the space.
        optimality_gap: The certified optimality gap at the same data, in the objective's units; it
            equals the bound if that is what the rule computes.
        optimality_gap_guarantee: What the gap is, "theorem" or "model".
        optimality_gap_incumbent: Number of the trial that the gap is about, which may be another
            one than the incumbent.
        reason: In words, why to stop, or why not, or why the bound is infinite.
        terms: The numbers behind the bound, by name; JSON scalars, to be read only. The strings
            "inf", "-inf" and "nan" are reserved. "probability_left", where there, is the estimated
            probability that something better than the incumbent by more than ε remains, given the
            model, from as many draws of it as "paths" says. "risk_spent", where there, is the part of
            δ that the tests up to this one, and the slopes, have spent.
        measure: What the bound is about: "regret", f* − f(incumbent); "regret change", how much the last observation
            changed its expectation; or "expected improvement", the largest on the incumbent. Only the first says how
            far the optimum can be; the others say that a search has settled.
    """

    rule: str
    bound: float
    epsilon: float
    delta: float
    guarantee: Guarantee
    incumbent: int | None
    incumbent_value: float | None
    n_observations: int
    n_excluded: int
    optimality_gap: float
    optimality_gap_guarantee: Guarantee
    optimality_gap_incumbent: int | None
    reason: str
    terms: Mapping[str, float | int | str] = field(hash=False)
    measure: Measure = "regret"

    @property
    def stop(self) -> bool:
        """Whether the bound is below ε."""
        return bool(self.bound < self.epsilon)  # numpy's bool is no JSON

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as strict JSON: infinities and NaN become strings.

        Returns:
            The fields, and "version" and "stop". `from_dict` is the inverse.
        """
        values = {f.name: _to_json(getattr(self, f.name)) for f in fields(self)}
        values["terms"] = {name: _to_json(value) for name, value in self.terms.items()}
        return {"version": _VERSION, **values, "stop": self.stop}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the certificate that `to_dict` turned into a dictionary.

        Args:
            data: The dictionary. "stop" is not read: it follows from the rest.

        Raises:
            ValueError: If the version is unknown, a field is missing or a guarantee or measure has no meaning.
        """
        if data.get("version") != _VERSION:
            raise ValueError(f"version must be {_VERSION}, got version={data.get('version')!r}")
        # A field with a default is younger than the version: certificates stored before it mean the default.
        names = [f.name for f in fields(cls) if f.default is MISSING or f.name in data]
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(f"data must have every field, got none for {', '.join(missing)}")
        for name in ("guarantee", "optimality_gap_guarantee"):
            if data[name] not in get_args(Guarantee):
                raise ValueError(f"{name} must be one of {get_args(Guarantee)}, got {name}={data[name]!r}")
        if data.get("measure", "regret") not in get_args(Measure):
            raise ValueError(f"measure must be one of {get_args(Measure)}, got measure={data['measure']!r}")
        values = {name: data[name] for name in names}
        for name in ("bound", "epsilon", "delta", "incumbent_value", "optimality_gap"):
            values[name] = _from_json(values[name])
        values["terms"] = {name: _from_json(value) for name, value in data["terms"].items()}
        return cls(**values)

    def summary(self) -> str:
        """Return in one line what was decided, for a log."""
        after = f"after {self.n_observations} evaluations"
        if not math.isfinite(self.bound):
            return f"{self.rule} says nothing of {_QUANTITY[self.measure]} any trial {after}: {self.reason}."
        says = "estimates" if self.guarantee == "heuristic" else "certifies"
        value = "unknown" if self.incumbent_value is None else f"{self.incumbent_value:.6g}"
        bound, epsilon = compared(self.bound, self.epsilon)
        return (
            f"{self.rule} {says} that {_QUANTITY[self.measure]} trial {self.incumbent} (value {value}) is at most "
            f"{bound}{' <' if self.stop else ', not below'} epsilon = {epsilon} (delta = {self.delta:.4g}, "
            f"guarantee: {self.guarantee}) {after}." + "".join(f" {sentence}" for sentence in self._left("epsilon"))
        )

    def __str__(self) -> str:
        lines = [f"{'Stop' if self.stop else 'Go on'} ({self.rule}, ε = {self.epsilon:.4g})"]
        lines[0] += f": {self.reason}"
        lines += self._statement()
        # The gap would only repeat the statement where the rule is the gap itself.
        same = (self.bound, self.guarantee, self.incumbent) == (
            self.optimality_gap,
            self.optimality_gap_guarantee,
            self.optimality_gap_incumbent,
        )
        if not same:
            lines.append(self._gap_statement())
        if self.terms.get("maximum") == "searched" and math.isfinite(self.optimality_gap):
            lines.append("It rests on a maximum over the space that was searched for, not enumerated.")
        lines += self._left("ε")
        observations = "1 observation" if self.n_observations == 1 else (f"{self.n_observations} observations")
        lines += self._risk()
        lines.append(
            f"Based on {observations}; {self.n_excluded} left out (failed, not finite or outside the space)"
            + (f"; the next test is due at {self.terms['next_test']}." if "next_test" in self.terms else ".")
        )
        return "\n".join(lines)

    def _statement(self) -> list[str]:
        if not math.isfinite(self.bound):
            return ["Nothing can be said yet about how far the best trial is from the optimum."]
        trial = "the incumbent" if self.incumbent is None else f"trial {self.incumbent}"
        if self.incumbent_value is not None:
            trial += f" (observed value {_rounded(self.incumbent_value)})"
        if self.measure != "regret":
            return self._signal(trial)
        claim = f"the optimum is at most {rounded_up(self.bound)} better than"
        if self.terms.get("maximum") == "evaluated":
            return [f"Given that there is no noise, as you declared, {claim} {trial}."]
        if self.guarantee == "heuristic":
            return [f"The rule estimates that {claim} {trial};", "no proof at these settings."]
        return [
            f"With probability at least {_confidence(self.delta)}, {self._assumption(self.guarantee)},",
            f"{claim} {trial}.",
        ]

    def _signal(self, trial: str) -> list[str]:
        """Return what a bound says that is not about the regret itself, and that it is not."""
        bound = rounded_up(self.bound)
        if self.measure == "regret change":
            says = f"The rule estimates that the last observation changed the expected regret by at most {bound};"
            return [says, f"that does not bound the regret of {trial}, and there is no proof at these settings."]
        return [
            f"The model expects one more evaluation to improve on {trial} by at most {bound};",
            "that does not bound how much better the optimum is, and there is no proof at these settings.",
        ]

    def _left(self, epsilon: str) -> list[str]:
        """Return a sentence on what may be left to find, none where it was not estimated, as in older certificates."""
        left, paths = self.terms.get("probability_left"), self.terms.get("paths")
        if not isinstance(left, numbers.Real) or not isinstance(paths, numbers.Integral):
            return []
        return [
            f"Estimated probability that something better by more than {epsilon} remains: {float(left):.2g} "
            f"({paths} posterior paths)."
        ]

    def _risk(self) -> list[str]:
        """Return how δ is spent; nothing where no ledger was kept, as in older certificates."""
        terms = self.terms
        if "schedule" not in terms:
            return []
        shares = {
            "slope_risk": "for the slopes",
            "model_risk": "left by the model",
            "test_risk": f"for {terms['schedule']}",
        }
        parts = [f"{_rounded(float(terms[name]))} {words}" for name, words in shares.items() if float(terms[name])]
        return [
            f"Risk: δ = {self.delta:.4g} = {' + '.join(parts)}; this was test {terms['test']} "
            f"with {_rounded(float(terms['risk']))}; {_rounded(float(terms['risk_spent']))} spent so far."
        ]

    def _gap_statement(self) -> str:
        if not math.isfinite(self.optimality_gap):
            return "Certified optimality gap: none."
        words = f"at most {rounded_up(self.optimality_gap)}"
        if self.optimality_gap_incumbent is not None:
            words += f" for trial {self.optimality_gap_incumbent}"
        if self.optimality_gap_guarantee == "heuristic":
            return f"Optimality gap: {words}; no proof at these settings."
        return (
            f"Certified optimality gap: {words}, with probability at least "
            f"{_confidence(self.delta)},\n{self._assumption(self.optimality_gap_guarantee)}."
        )

    def _assumption(self, guarantee: Guarantee) -> str:
        jitter = self.terms.get("jitter_std")
        if not isinstance(jitter, numbers.Real) or not float(jitter) > 0.0:
            return _ASSUMPTION[guarantee]
        return f"{_ASSUMPTION[guarantee]} and noise of deviation {_rounded(float(jitter))} on top, against rounding"


def _to_json(value: Any) -> Any:
    """Return a scalar as plain Python, numpy's included, and what JSON cannot say as a string."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    return value


def _from_json(value: Any) -> Any:
    return _NON_FINITE.get(value, value) if isinstance(value, str) else value


def _digits(value: Decimal, rounding: str, digits: int = 4) -> str:
    return f"{float(Context(prec=digits, rounding=rounding).plus(value)):.{digits}g}"


def _rounded(value: float) -> str:
    return _digits(Decimal(repr(float(value))), ROUND_HALF_EVEN)


def rounded_up(bound: float) -> str:
    """Return a bound in four digits; upwards, since fewer digits must not claim more."""
    return _digits(Decimal(repr(float(bound))), ROUND_CEILING)


def compared(bound: float, epsilon: float) -> tuple[str, str]:
    """Return a finite bound, rounded up, and ε in as many digits, at least four, as show which is the smaller one."""
    one, other = (Decimal(repr(float(value))) for value in (bound, epsilon))
    for digits in range(4, 17):
        said = _digits(one, ROUND_CEILING, digits), _digits(other, ROUND_HALF_EVEN, digits)
        if (float(said[0]) < float(said[1])) == (one < other):
            return said
    return repr(float(bound)), repr(float(epsilon))


def _confidence(delta: float) -> str:
    """Return 1 − δ in four digits; downwards, since fewer digits must not claim more."""
    return _digits(1 - Decimal(repr(float(delta))), ROUND_FLOOR)
