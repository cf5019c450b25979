"""The whole loop, for programs without a framework."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from regretstop.certificate import Certificate
from regretstop.checks import check_at_least
from regretstop.history import Observation
from regretstop.optimizer import GPUCB
from regretstop.rules import Rule
from regretstop.spaces import Space


@dataclass(frozen=True)
class Result:
    """What `minimize` found.

    Attributes:
        params: Parameters of the certified trial, or of the best one where nothing is certified.
        value: Its observed value.
        certificate: The last certificate.
        certificates: One per evaluation, in order.
        history: All evaluations in order.
    """

    params: Mapping[str, Any]
    value: float
    certificate: Certificate
    certificates: tuple[Certificate, ...]
    history: tuple[Observation, ...]


def minimize(
    f: Callable[[dict[str, Any]], float],
    space: Space,
    *,
    rule: Rule,
    max_trials: int,
    seed: int | None = None,
    callback: Callable[[Observation, Certificate], None] | None = None,
    **options: Any,
) -> Result:
    """Minimise f until the rule's bound falls below ε, or for max_trials evaluations.

    Args:
        f: The objective, of a dict of parameters. What it raises is not caught.
        space: The search space.
        rule: The stopping rule.
        max_trials: The largest number of evaluations.
        seed: Seed of everything random.
        callback: Called after each evaluation.
        **options: Further arguments of GPUCB; exceedance="rule" takes ε of a rule that bounds the regret.

    Returns:
        The result; `result.certificate` says whether and why it stopped.

    Raises:
        ValueError: If max_trials is below 1, or no evaluation gave a finite value.
    """
    check_at_least("max_trials", max_trials, 1)
    optimizer = GPUCB(space, direction="minimize", seed=seed, **options)
    certificates: list[Certificate] = []
    for _ in range(max_trials):
        params = optimizer.ask(epsilon=rule.regret_epsilon)
        optimizer.tell(params, f(params))
        certificates.append(optimizer.certificate(rule))
        if callback is not None:
            callback(optimizer.history[-1], certificates[-1])
        if certificates[-1].stop:
            break
    finite = [o for o in optimizer.history if o.value is not None and math.isfinite(o.value)]
    if not finite:
        raise ValueError(f"none of {len(optimizer.history)} evaluations gave a finite value")
    number = certificates[-1].incumbent
    chosen = optimizer.history[number] if certificates[-1].stop and number is not None else None
    best = chosen or min(finite, key=lambda o: o.value if o.value is not None else math.inf)
    assert best.value is not None
    return Result(best.params, float(best.value), certificates[-1], tuple(certificates), optimizer.history)
