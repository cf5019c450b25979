"""The rule that ends a search: the default one, and whether it can be asked after every trial."""

from typing import Any

from regretstop.rules._base import Rule
from regretstop.rules._ucb_br import UCBbr
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


def check_repeated(rule: Rule) -> None:
    """Check that the rule may be asked after every trial.

    Raises:
        ValueError: If its schedule is one test of a finished search.
    """
    if isinstance(rule.schedule, PostHoc):
        raise ValueError(f"schedule={rule.schedule!r} is one test of a finished search, not one after every trial")
