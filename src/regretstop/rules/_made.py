"""How a certificate is made of what a rule finds in a snapshot."""

from dataclasses import replace

from regretstop.certificate import Certificate
from regretstop.gap import CountedGap, Gap
from regretstop.rules._ceiling import ceiling_of, under_ceiling
from regretstop.rules._estimate import Estimate, verdict
from regretstop.rules._remaining import FromPaths, expected_regret, probability_left, what_paths_say
from regretstop.snapshot import Snapshot
from regretstop.statement import Guarantee, Noise, ProbabilityLeft, RiskSpent


def certificate_of(
    nothing: Certificate,
    snapshot: Snapshot,
    found: Estimate,
    gap: Gap | CountedGap | None,
    *,
    difference: float,
    guarantee: Guarantee,
    risk: RiskSpent | None,
    noise: Noise | None,
    left: ProbabilityLeft | None,
    drawn: FromPaths | None,
) -> Certificate:
    """Return the certificate of what was found in a snapshot, with what every rule says of its data and its model.

    Args:
        nothing: What the rule says of the snapshot without a bound: its name, ε and δ, and the data.
        snapshot: Without an obstacle.
        found: As of `Rule._certificate`, like all that follows.
        gap: The gap beside the bound.
        difference: Of values, that matters.
        guarantee: Of the bound.
        risk: How δ is spent.
        noise: Of the model.
        left: The probability that something better remains.
        drawn: What posterior paths say of the trial.
    """
    measure, epsilon = nothing.claim.measure, nothing.asked.epsilon
    bounds_regret = measure in ("regret", "expected regret")
    ceiling = ceiling_of(
        snapshot,
        found.incumbent,
        nothing.asked.delta if risk is None else risk.risk,
        difference,
        # What ends no search by itself only stands beside the bound.
        decides=bounds_regret or found.bound < epsilon,
    )
    limit = ceiling.bound if measure == "regret" else ceiling.mean
    if bounds_regret and limit < found.bound:
        found = replace(found, bound=limit, how="declared", reason=under_ceiling(limit, epsilon))
        guarantee = snapshot.model.guarantee
    remark = snapshot.data.plateau_remark() if found.bound >= epsilon else ""
    if drawn is None and not (isinstance(gap, CountedGap) and gap.incumbent == found.incumbent):
        drawn = what_paths_say(snapshot, found.incumbent, difference)
    is_price = measure == "improvement per cost"
    if not is_price:
        left = left or probability_left(snapshot, found.incumbent, difference, gap, drawn)
    regret = expected_regret(snapshot, found.incumbent, difference, gap, drawn)
    return replace(
        nothing,
        claim=replace(
            nothing.claim,
            bound=found.bound,
            guarantee=guarantee,
            incumbent=int(snapshot.data.numbers[found.incumbent]),
            incumbent_value=float(snapshot.data.values[found.incumbent]),
            maximum=found.how,
            reason=(found.reason or verdict(found.bound, epsilon)) + remark + snapshot.model.remark(),
            terms=found.terms,
        ),
        gap=ceiling.gap(snapshot, gap),
        data=replace(nothing.data, test=snapshot.test, next_test=None if risk is None else snapshot.later_test),
        risk=risk,
        model=snapshot.model.report(),
        noise=noise or snapshot.noise_at(found.incumbent),
        left=None if is_price or left is None else ceiling.lowered_left(left),
        expected_regret=None if regret is None else ceiling.lowered_regret(regret),
    )
