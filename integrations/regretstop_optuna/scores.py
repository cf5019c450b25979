"""The scores of a cross-validation, for an ε that is their standard error."""

import numbers
from collections.abc import Sequence

from optuna.trial import BaseTrial, Trial

from regretstop_optuna._attributes import SCORES


def report_cross_validation_scores(trial: BaseTrial, scores: Sequence[float]) -> None:
    """Keep the scores of a trial's folds, from which `epsilon="standard error"` is computed.

        def objective(trial):
            model = SVC(C=trial.suggest_float("C", 1e-3, 1e3, log=True))
            scores = cross_val_score(model, X, y, cv=5)
            report_cross_validation_scores(trial, scores)
            return scores.mean()

        study.optimize(objective, n_trials=200, callbacks=[RegretBoundCallback(epsilon="standard error")])

    It takes the place of the function of the same name in `optuna.terminator`, which is deprecated, and keeps the
    scores under the same name: those of either are read.

    Args:
        trial: The trial. One that is not of a study, such as a `FixedTrial`, keeps nothing.
        scores: Of the folds, at least two, in the units of the objective.

    Raises:
        ValueError: If there are fewer than two, or one is no number.
    """
    values = list(scores)
    if len(values) < 2:
        raise ValueError(f"scores must be those of at least two folds, got {scores!r}")
    if not all(isinstance(value, numbers.Real) for value in values):
        raise ValueError(f"scores must be numbers, got {scores!r}")
    if isinstance(trial, Trial):
        # Plain numbers: NumPy's would not survive a storage that keeps JSON.
        trial.storage.set_trial_system_attr(trial._trial_id, SCORES, [float(value) for value in values])  # pyright: ignore[reportPrivateUsage]
