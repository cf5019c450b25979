"""What can be said of a study before its first trial: whether it is one that a regret bound is about."""

from optuna.study import Study


def check_study(study: Study) -> None:
    """Raise if no regret bound will ever be computed for the study, whatever its trials bring.

    Optuna shows a study to its callbacks only after a trial. Where a trial is dear, ask before the first:

        check_study(study)
        study.optimize(objective, callbacks=[RegretBoundCallback(epsilon=0.01)])

    `GPUCBSampler`, `should_stop`, `certificate_of` and the plots ask by themselves, before anything is evaluated, and
    `RegretBoundCallback` when it is called.

    Args:
        study: The study, with any sampler, and with trials or without.

    Raises:
        ValueError: If the study has several objectives.
    """
    if len(study.directions) > 1:
        raise ValueError(f"a regret bound is about one objective, the study has {len(study.directions)}")
