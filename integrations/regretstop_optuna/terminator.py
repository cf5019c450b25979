"""What a study script took from `optuna.terminator`, under the same names: only the import changes.

    from regretstop_optuna.terminator import TerminatorCallback, report_cross_validation_scores

    study.optimize(objective, n_trials=100, callbacks=[TerminatorCallback()])

It stops where the bound on the regret is below the standard error of the best trial's cross-validation scores. To say ε
yourself, or choose another rule, take `RegretBoundCallback` (docs/coming_over.md, class by class).
"""

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from regretstop.checks import check_at_least
from regretstop_optuna.callback import RegretBoundCallback
from regretstop_optuna.decision import should_stop
from regretstop_optuna.scores import report_cross_validation_scores

__all__ = ["Terminator", "TerminatorCallback", "report_cross_validation_scores"]

_EPSILON = "standard error"


class Terminator:
    """Says whether a study is good enough: its bound is below the standard error of the best trial's scores.

    Args:
        improvement_evaluator: None. What evaluators estimate is the business of rules here: see `RegretBoundCallback`.
        error_evaluator: None, likewise.
        min_n_trials: The fewest trials with a value, at least 1.

    Raises:
        ValueError: If an evaluator is given, or the number is below 1.
    """

    def __init__(
        self, improvement_evaluator: None = None, error_evaluator: None = None, min_n_trials: int = 20
    ) -> None:
        if improvement_evaluator is not None or error_evaluator is not None:
            raise ValueError(
                "evaluators have no counterpart by that name: give RegretBoundCallback a rule, or ε as a number"
            )
        check_at_least("min_n_trials", min_n_trials, 1)
        self._min_n_trials = min_n_trials

    def should_terminate(self, study: Study) -> bool:
        """Return whether the study is good enough."""
        return self.has_enough(study) and should_stop(study, epsilon=_EPSILON)

    def has_enough(self, study: Study) -> bool:
        """Return whether there are as many trials as it waits for."""
        done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return len(done) >= self._min_n_trials


class TerminatorCallback:
    """Stops a study as soon as a terminator would, with the certificate and the log of `RegretBoundCallback`.

    Args:
        terminator: When; `Terminator()` if None.

    Raises:
        ValueError: If it is no such terminator.
    """

    def __init__(self, terminator: Terminator | None = None) -> None:
        if terminator is not None and not isinstance(terminator, Terminator):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"terminator must be one of regretstop_optuna.terminator, got {terminator!r}")
        self._terminator = terminator or Terminator()
        self._callback = RegretBoundCallback(epsilon=_EPSILON)

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Assess the study after a trial, and stop it if it is good enough."""
        if self._terminator.has_enough(study):
            self._callback(study, trial)
