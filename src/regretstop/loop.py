"""The whole loop, for programs without a framework; and what a rule would have said of one that is over."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regretstop.certificate import Certificate
from regretstop.checks import as_float, check_at_least
from regretstop.history import Observation
from regretstop.model import Surrogate
from regretstop.optimizer import GPUCB, Direction
from regretstop.rules import Rule, check_rule, resolve_rule
from regretstop.schedule import Schedule
from regretstop.spaces import Space
from regretstop.statement import Forecast, forecast


@dataclass(frozen=True)
class Result:
    """What `minimize` found.

    Attributes:
        params: Parameters of the certified trial, or of the best one where nothing is certified.
        value: Its observed value.
        certificate: The last certificate.
        certificates: One per evaluation, in order.
        history: All evaluations in order.
        optimizer: The search as it stands, to go on with, or to draw what its model knows.
    """

    params: Mapping[str, Any]
    value: float
    certificate: Certificate
    certificates: tuple[Certificate, ...]
    history: tuple[Observation, ...]
    optimizer: GPUCB = field(repr=False, compare=False)

    @property
    def forecast(self) -> Forecast | None:
        """How many more evaluations it would take until the bound is below ε; None after a stop, or without bounds."""
        return forecast(self.certificates, own_points=True)


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
        ValueError: If max_trials is below 1, the rule is none, a direction is given,
            no evaluation gave a finite value, or one is better than best_possible.
    """
    check_at_least("max_trials", max_trials, 1)
    rule = resolve_rule(None, None, check_rule(rule))
    if "direction" in options:
        raise ValueError(
            f"direction must be left out of minimize, got {options['direction']!r}: minimise -f, or ask and tell GPUCB"
        )
    optimizer = GPUCB(space, direction="minimize", seed=seed, **options)
    certificates: list[Certificate] = []
    for _ in range(max_trials):
        params = optimizer.ask(epsilon=rule.regret_epsilon)
        optimizer.tell(params, f(dict(params)))  # which f may take apart
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
    return Result(best.params, float(best.value), certificates[-1], tuple(certificates), optimizer.history, optimizer)


@dataclass(frozen=True)
class Replay:
    """What a rule would have said of a search, had it been asked after every evaluation.

    Attributes:
        observations: The evaluations, in the order in which they ended.
        certificates: What the rule would have said after each of them.
        direction: "maximize" or "minimize".
        optimizer: The model with all of them, to draw what it knows.
        seconds: How long each evaluation took; empty where that is not known.
        own_points: Whether `GPUCB` chose the points.
    """

    observations: tuple[Observation, ...]
    certificates: tuple[Certificate, ...]
    direction: Direction
    optimizer: GPUCB = field(repr=False, compare=False)
    seconds: tuple[float, ...] = ()
    own_points: bool = False

    @property
    def forecast(self) -> Forecast | None:
        """How many more evaluations it takes until the bound is below ε; None after a stop, or without bounds."""
        return None if self.stop is not None else forecast(self.certificates, own_points=self.own_points)

    @property
    def stop(self) -> int | None:
        """After how many evaluations the search would have stopped; None if it would not have."""
        return next((n for n, certificate in enumerate(self.certificates, 1) if certificate.stop), None)

    @property
    def n_saved(self) -> int:
        """How many evaluations came after that."""
        return 0 if self.stop is None else len(self.observations) - self.stop

    @property
    def seconds_saved(self) -> float | None:
        """How long these took together, on one worker; None where that is not known."""
        if not self.seconds:
            return None
        return 0.0 if self.stop is None else math.fsum(self.seconds[self.stop :])

    @property
    def found_later(self) -> float | None:
        """By how much the best feasible value of all in the space is better than that at the stop, ≥ 0.

        None where there is no stop, or no such value by then.
        """
        if self.stop is None:
            return None
        found = self._best(self.stop)
        return self._best(len(self.observations)) - found if math.isfinite(found) else None

    def _best(self, n: int) -> float:
        sign = 1.0 if self.direction == "maximize" else -1.0
        contains = self.optimizer.space.contains
        values = (o.value for o in self.observations[:n] if o.feasible and contains(o.params))
        return max((sign * value for value in values if value is not None and math.isfinite(value)), default=-math.inf)


def replay(
    observations: Sequence[Observation],
    space: Space,
    *,
    rule: Rule,
    direction: Direction,
    surrogate: Surrogate | None = None,
    seconds: Sequence[float] = (),
    after_stop: Schedule | None = None,
    progress: Callable[[int], None] | None = None,
    own_points: bool = False,
    **options: Any,
) -> Replay:
    """Ask a rule about a search that is over, as if it had been asked after every evaluation.

    Whatever chose the points: a certificate is about the data. Where the rule's schedule makes no test, the one before
    stands, which costs nothing.

    Args:
        observations: The evaluations, in any order; that in which they ended counts, and among equals that of their
            numbers.
        space: The search space. Points outside its ranges are fitted, but neither certified nor counted as found; those
            that have no coordinates in it are left out.
        rule: The stopping rule.
        direction: "maximize" or "minimize".
        surrogate: The model; a `GaussianProcess` by default.
        seconds: How long each evaluation took, in the same order as `observations`; none where that is not known.
        after_stop: When the rule is asked after the evaluation at which the search would have stopped, where nothing is
            decided any more; in between the last certificate stands. It is asked about the last evaluation in any
            case. None for what the rule's own schedule says.
        progress: Called with the number of evaluations that have been replayed.
        own_points: Whether `GPUCB` chose the points, which a forecast has to know.
        **options: Further arguments that GPUCB had in the search, such as beta and seed, on which certificates depend
            (0 unless it is given).

    Raises:
        ValueError: If the rule is none, the direction is neither, or there are not as many durations as observations.
    """
    rule = check_rule(rule)
    if len(seconds) not in (0, len(observations)):
        raise ValueError(
            f"seconds must have one number for each of {len(observations)} observations, got {len(seconds)}"
        )
    order = sorted(range(len(observations)), key=lambda i: (observations[i].ended, observations[i].number))
    ended = [observations[i] for i in order]
    known: dict[str, Any] = {"surrogate": surrogate, "seed": 0}
    optimizer = GPUCB(space, direction=direction, **known | options)
    certificates: list[Certificate] = []
    stop: int | None = None
    for n in range(1, len(ended) + 1):
        is_asked = after_stop is None or stop is None or n in (len(ended), after_stop.due(n, stop).n_observations)
        if is_asked:
            optimizer.replace_history(ended[:n])
        certificates.append(optimizer.certificate(rule) if is_asked else certificates[-1])
        if stop is None and certificates[-1].stop:
            stop = n
        if progress is not None:
            progress(n)
    durations = tuple(as_float("seconds", seconds[i]) for i in order) if len(seconds) else ()
    return Replay(tuple(ended), tuple(certificates), direction, optimizer, durations, own_points)
