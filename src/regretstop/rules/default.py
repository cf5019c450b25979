"""What an adapter uses where its user typed nothing: the rule, and what the search looks for."""

from collections.abc import Callable
from typing import Any, Literal

from regretstop.rules.base import Rule
from regretstop.rules.ucb_br import UCBbr
from regretstop.schedule import PostHoc


def resolve_rule(epsilon: Any, delta: Any, rule: Any) -> Rule:
    """Return the rule, or the default one for the two numbers.

    Raises:
        ValueError: If it is no rule, or ε or δ is out of its range.
    """
    if rule is None:
        return UCBbr(epsilon=epsilon, delta=delta)
    if not isinstance(rule, Rule):
        raise ValueError(f"rule must be a stopping rule such as UCBbr(epsilon=0.01), got {rule!r}")
    return rule


def exceedance_for(
    exceedance: float | Literal["rule"] | None, beta: float | str, epsilon: Callable[[], float | None]
) -> float | None:
    """Return the ε by which a point must be able to beat the best trial for the search to look there; None for none.

    Args:
        exceedance: A number, "rule" for ε of the stopping rule, or None.
        beta: β of the search. The points of "theory" and "matched" are those that a proof is about, and stay so
            unless a number is given.
        epsilon: Returns ε of the rule that ends the search; None where no rule is known, or its bound is not on the
            regret. Called where it is needed only: it may have to be read from a storage.
    """
    if exceedance == "rule":
        return None if isinstance(beta, str) else epsilon()
    return exceedance


def check_repeated(rule: Rule) -> None:
    """Check that the rule may be asked after every trial.

    Raises:
        ValueError: If its schedule is one test of a finished search.
    """
    if isinstance(rule.schedule, PostHoc):
        raise ValueError(f"schedule={rule.schedule!r} is one test of a finished search, not one after every trial")
