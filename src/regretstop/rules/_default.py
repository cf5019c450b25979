"""The rule that ends a search where none was chosen."""

from typing import Any

from regretstop.rules._base import Rule
from regretstop.rules._ucb_br import UCBbr


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
