"""The certificate of any rule: single or a combination, with a model or without, with an ε or from the noise."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from regretstop.certificate import Certificate
from regretstop.history import Observation
from regretstop.rules._base import Rule
from regretstop.rules._facts import with_what_is_known
from regretstop.rules._standard_error import with_epsilon
from regretstop.snapshot import Snapshot


def certify(
    rule: Rule,
    observations: Sequence[Observation],
    sign: float,
    *,
    n_fitted: int,
    test: Callable[[Rule], Certificate],
    look: Callable[[], Snapshot],
) -> Certificate:
    """Return what the rule can say.

    Args:
        rule: Any rule.
        observations: All evaluations that ended.
        sign: Their values times the sign are maximised.
        n_fitted: How many of them a model can be fitted to.
        test: Returns the certificate of a single rule that needs a model and has a number for ε.
        look: Returns the snapshot of all observations.
    """

    def ask(single: Rule) -> Certificate:
        seen = single.look(observations, sign)
        if seen is not None:
            return seen
        asked, trial, unknown = with_epsilon(single, observations, sign)
        if unknown is not None:
            return single.undecided(unknown, n_observations=n_fitted, n_excluded=len(observations) - n_fitted)
        certificate = test(asked)
        return replace(certificate, asked=replace(certificate.asked, epsilon_trial=trial))

    return with_what_is_known(rule, rule.consult(ask), look)
