"""The words of a certificate, and of its numbers: fewer digits never claim more."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from regretstop.statement import Forecast, Guarantee, MeanRegret, ProbabilityLeft, Statement

_QUANTITY = {
    "regret": "the regret of",
    "regret change": "the last change of the expected regret at",
    "expected improvement": "the expected improvement on",
    "expected regret": "the expected regret of",
    "improvement per cost": "the expected improvement per unit of cost on",
    "none": "the regret of",
}
# Of what is counted: smaller numbers are said to be below it.
_LEAST_COUNTED = 0.001
_ASSUMPTION = {
    "theorem": "given the kernel and the noise you declared",
    "model": "given the fitted model (its hyperparameters were estimated from the data)",
}


def summary(certificate: Statement) -> str:
    """Return in one line what was decided, for a log."""
    rule, bound = _rule(certificate), certificate.bound
    quantity, after = _QUANTITY[certificate.measure], f"after {certificate.n_observations} evaluations"
    if certificate.guarantee == "none" and certificate.incumbent is not None:
        says = f"{rule}: {certificate.reason} {after}; it says nothing of {quantity} trial {certificate.incumbent}."
        return " ".join([says, *_expected(certificate)])
    if not math.isfinite(bound):
        says = f"{rule} says nothing of {quantity} any trial {after}: {certificate.reason}."
        return " ".join([says, *_expected(certificate)])
    says = "estimates" if certificate.guarantee == "heuristic" else "certifies"
    value = "unknown" if certificate.incumbent_value is None else f"{certificate.incumbent_value:.6g}"
    said_bound, said_epsilon = compared(bound, certificate.epsilon)
    limit = "price" if certificate.measure == "improvement per cost" else "epsilon"
    return (
        f"{rule} {says} that {quantity} trial {certificate.incumbent} (value {value}) is at most "
        f"{said_bound}{' <' if certificate.stop else ', not below'} {limit} = {said_epsilon} "
        f"(delta = {certificate.delta:.4g}, guarantee: {certificate.guarantee}) {after}."
        + "".join(f" {sentence}" for sentence in (*_left(certificate, "epsilon"), *_expected(certificate)))
    )


def standing(certificate: Statement, forecast: Forecast | None = None) -> str:
    """Return in one short phrase where a search stands, for its progress.

    Args:
        certificate: The latest.
        forecast: How many more evaluations it takes, if that is known.
    """
    shown = certificate.shown
    if shown.guarantee == "none" or not math.isfinite(shown.bound):
        return shown.reason
    bound, epsilon = compared(shown.bound, shown.epsilon)
    limit = "price" if shown.measure == "improvement per cost" else "ε"
    said = f"bound {bound} {'<' if shown.bound < shown.epsilon else '≥'} {limit} = {epsilon}"
    if shown.left is not None:
        said += f", probability left {_probability(shown.left)}"
    return said if forecast is None else f"{said}; {forecast}"


def text(certificate: Statement) -> str:
    """Return what is certified, in a few lines."""
    decision = "Stop" if certificate.stop else "Go on"
    lines = [f"{decision} ({_rule(certificate)}{_epsilon(certificate)}): {certificate.reason}"]
    lines += _statement(certificate)
    # The gap would only repeat the statement where the rule is the gap itself.
    same = (certificate.bound, certificate.guarantee, certificate.incumbent) == (
        certificate.optimality_gap,
        certificate.optimality_gap_guarantee,
        certificate.optimality_gap_incumbent,
    )
    if not same and (certificate.guarantee != "none" or math.isfinite(certificate.optimality_gap)):
        lines.append(_gap_statement(certificate))
    if certificate.maximum == "searched" and math.isfinite(certificate.optimality_gap):
        lines.append("It rests on a maximum over the space that was searched for, not enumerated.")
    if certificate.maximum == "counted" and math.isfinite(certificate.bound):
        lines.append("It rests on how many local maxima are expected, an integral that was estimated at random places.")
    if certificate.maximum == "declared":
        lines.append("It is what is left up to the best possible value that you declared.")
    lines += _left(certificate, "ε") + _expected(certificate)
    lines += _risk(certificate)
    lines += [_beside(other, certificate.guarantee == "none") for other in certificate.others]
    n = certificate.n_observations
    due = "" if certificate.next_test is None else f"; the next test is due at {certificate.next_test}"
    k = certificate.data.n_infeasible
    infeasible = f", {k} of them infeasible, of which none is certified" if k else ""
    lines.append(
        f"Based on {n} {'observation' if n == 1 else 'observations'}{infeasible}; {certificate.n_excluded} left out "
        f"(failed, not finite or without a place in the space){due}."
    )
    return "\n".join(lines)


def _rule(certificate: Statement) -> str:
    within = certificate.asked.combination
    return certificate.rule if within is None else f"{certificate.rule} of {within}"


def _epsilon(certificate: Statement) -> str:
    if certificate.guarantee == "none":
        return ""
    if certificate.measure == "improvement per cost":
        return f", price = {certificate.epsilon:.4g}"
    trial = certificate.asked.epsilon_trial
    if trial is None:
        return (
            f", ε = {certificate.epsilon:.4g}" if certificate.epsilon else ", ε the standard error of the best trial's"
        )
    return f", ε = {certificate.epsilon:.4g}, the standard error of trial {trial}'s score"


def _beside(other: Statement, with_gap: bool) -> str:
    """Return what another rule of a combination said, with the certified gap where nothing else is certified."""
    decision = "stop" if other.stop else "go on"
    heuristic = ", no proof" if other.guarantee == "heuristic" else ""
    says = f"Beside it {other.rule}{_epsilon(other)}{heuristic} says {decision}: {other.reason}."
    gap = _gap_statement(other).replace("\n", " ")
    return f"{says} {gap}" if with_gap and math.isfinite(other.optimality_gap) else says


def _statement(certificate: Statement) -> list[str]:
    trial = "the incumbent" if certificate.incumbent is None else f"trial {certificate.incumbent}"
    if certificate.incumbent_value is not None:
        trial += f" (observed value {rounded(certificate.incumbent_value)})"
    if certificate.guarantee == "none" and certificate.incumbent is not None:
        return [f"The rule says nothing of how much better than {trial} the optimum is."]
    if not math.isfinite(certificate.bound):
        return ["Nothing can be said yet about how far the best trial is from the optimum."]
    optimum, feasible = "the optimum", "the optimum"
    if certificate.data.n_infeasible:
        optimum, feasible = "the optimum of the whole space, so the feasible one too,", "the feasible optimum"
    if _n_constraints(certificate):
        optimum = feasible
    claim = f"{optimum} is at most {rounded_up(certificate.bound)} better than"
    if certificate.maximum == "declared" and certificate.noise is not None and certificate.noise.noise_std == 0.0:
        return [f"Given the best possible value and that there is no noise, as you declared, {claim} {trial}."]
    if certificate.maximum == "evaluated":
        claim = f"{feasible} is at most {rounded_up(certificate.bound)} better than"
        return [f"Given that there is no noise, as you declared, {claim} {trial}."]
    if certificate.measure != "regret":
        return _signal(certificate, trial)
    if certificate.guarantee == "heuristic":
        return [f"The rule estimates that {claim} {trial};", "no proof at these settings."]
    return [
        f"With probability at least {_confidence(certificate.delta)}, "
        f"{_assumption(certificate, certificate.guarantee)},",
        f"{claim} {trial}.",
    ]


def _signal(certificate: Statement, trial: str) -> list[str]:
    """Return what a bound says that is not about the regret itself, and that it is not."""
    bound = rounded_up(certificate.bound)
    if certificate.measure == "expected regret":
        return [
            f"The model expects the optimum to be at most {bound} better than {trial} on average;",
            "that bounds no single case, and there is no proof at these settings.",
        ]
    if certificate.measure == "improvement per cost":
        return [
            f"The model expects one more evaluation to improve on {trial} by at most {bound} for a unit of its cost;",
            "that does not bound how much better the optimum is, and there is no proof at these settings.",
        ]
    if certificate.measure == "regret change":
        says = f"The rule estimates that the last observation changed the expected regret by at most {bound};"
        return [says, f"that does not bound the regret of {trial}, and there is no proof at these settings."]
    return [
        f"The model expects one more evaluation to improve on {trial} by at most {bound};",
        "that does not bound how much better the optimum is, and there is no proof at these settings.",
    ]


def _left(certificate: Statement, epsilon: str) -> list[str]:
    """Return a sentence on what may be left to find, none where it was not estimated, as in older certificates."""
    left = certificate.left
    if left is None:
        return []
    how = f", by {_counted_by(left)}" if left.n_paths is None else f" ({left.n_paths} posterior paths)"
    said = f"{_probability(left)}{how}"
    return [f"Estimated probability that something better by more than {epsilon} remains: {said}."]


def _counted_by(what: ProbabilityLeft | MeanRegret) -> str:
    return "the best possible value" if what.by_ceiling else "the local maxima that are expected"


def _probability(left: ProbabilityLeft) -> str:
    if left.n_paths is not None:
        return f"{left.probability:.2g}"
    # An integral, and samples of the hyperparameters, are not known to more.
    return f"below {_LEAST_COUNTED:g}" if left.probability < _LEAST_COUNTED else f"at most {left.probability:.2g}"


def _expected(certificate: Statement) -> list[str]:
    """Return a sentence on what going on can gain on average, none where it was not estimated."""
    expected = certificate.expected_regret
    if expected is None:
        return []
    said = "Expected regret, the most that going on can gain on average:"
    if expected.n_paths is None:
        return [f"{said} about {expected.value:.2g}, by {_counted_by(expected)}."]
    return [f"{said} {expected.value:.2g} ± {expected.error:.1g} ({expected.n_paths} posterior paths)."]


def _risk(certificate: Statement) -> list[str]:
    """Return how δ is spent; nothing where no ledger was kept, as in older certificates."""
    risk = certificate.risk
    if risk is None:
        return []
    shares = (
        (risk.slope_risk, "for the slopes"),
        (risk.model_risk, "left by the model"),
        (risk.test_risk, f"for {risk.schedule}" if risk.simultaneous else "for the test that ends the search"),
    )
    spent = [(share, words) for share, words in shares if share]
    if risk.simultaneous:
        this = f"this was test {certificate.test} with {rounded(risk.risk)}; {rounded(risk.spent)} spent so far"
    else:
        this = f"{risk.schedule}; this was test {certificate.test}"
    # What is all of δ is not said twice.
    is_whole = len(spent) == 1 and not risk.simultaneous
    parts = [words if is_whole else f"{rounded(share)} {words}" for share, words in spent]
    equals = "" if is_whole else "= "
    return [f"Risk: δ = {certificate.delta:.4g} {equals}{' + '.join(parts)}; {this}."]


def _gap_statement(certificate: Statement) -> str:
    if not math.isfinite(certificate.optimality_gap):
        return "Certified optimality gap: none."
    words = f"at most {rounded_up(certificate.optimality_gap)}"
    if certificate.optimality_gap_incumbent is not None:
        words += f" for trial {certificate.optimality_gap_incumbent}"
    if certificate.optimality_gap_guarantee == "heuristic":
        return f"Optimality gap: {words}; no proof at these settings."
    return (
        f"Certified optimality gap: {words}, with probability at least "
        f"{_confidence(certificate.delta)},\n{_assumption(certificate, certificate.optimality_gap_guarantee)}."
    )


def _n_constraints(certificate: Statement) -> int:
    return 0 if certificate.model is None else certificate.model.n_constraints


def _assumption(certificate: Statement, guarantee: Guarantee) -> str:
    noise, model, assumption = certificate.noise, certificate.model, _ASSUMPTION[guarantee]
    if guarantee == "model" and certificate.maximum == "counted" and model is not None and model.sampling == "HMC":
        assumption = f"given the model, in the mean over {model.n_samples} samples of its hyperparameters"
    k = _n_constraints(certificate)
    if guarantee == "model" and k:
        which = "the constraint that was violated" if k == 1 else f"{k} constraints that were violated"
        assumption += f", and that of {which}"
    if noise is None or not noise.jitter_std > 0.0:
        return assumption
    return f"{assumption} and noise of deviation {rounded(noise.jitter_std)} on top, against rounding"


def _digits(value: Decimal, rounding: str, digits: int = 4) -> str:
    return f"{float(Context(prec=digits, rounding=rounding).plus(value)):.{digits}g}"


def rounded(value: float) -> str:
    """Return a number in four digits."""
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


def apart(one: float, other: float) -> tuple[str, str]:
    """Return two numbers in as many digits, at least four, as show which is the smaller one, if either is."""
    for digits in range(4, 17):
        said = (
            _digits(Decimal(repr(float(one))), ROUND_HALF_EVEN, digits),
            _digits(Decimal(repr(float(other))), ROUND_HALF_EVEN, digits),
        )
        if (float(said[0]) < float(said[1]), float(said[0]) > float(said[1])) == (one < other, one > other):
            return said
    return repr(float(one)), repr(float(other))


def _confidence(delta: float) -> str:
    """Return 1 − δ in four digits; downwards, since fewer digits must not claim more."""
    return _digits(Context(rounding=ROUND_FLOOR).subtract(1, Decimal(repr(float(delta)))), ROUND_FLOOR)
