"""The rule that ends a search where none was chosen."""

from typing import Any

from regretstop.rules._base import Rule
from regretstop.rules._standard_error import STANDARD_ERROR
from regretstop.rules._ucb_br import UCBbr


def resolve_rule(epsilon: Any, delta: Any, rule: Any, *, has_scores: bool = False) -> Rule:
    """Return the rule, or the default one for the two numbers.

    Args:
        epsilon: ε.
        delta: δ.
        rule: The rule, or None.
        has_scores: Whether the framework knows cross-validation scores, from which ε can be a standard error.

    Raises:
        ValueError: If it is no rule, or ε or δ is out of its range.
    """
    if rule is None:
        rule = UCBbr(epsilon=epsilon, delta=delta)
    check_rule(rule)
    if not has_scores and any(leaf.epsilon == STANDARD_ERROR for leaf in rule.leaves):
        raise ValueError(
            f"epsilon must be a positive number here, got {STANDARD_ERROR!r}: only trials of Optuna report the scores "
            "that it is made of"
        )
    return rule


def check_rule(rule: Any) -> Rule:
    """Return the rule.

    Raises:
        ValueError: If it is none.
    """
    if not isinstance(rule, Rule):
        raise ValueError(f"rule must be a stopping rule such as UCBbr(epsilon=0.01), got {rule!r}")
    return rule
