"""Optuna: a GP-UCB sampler, and a callback that stops a study when it is good enough."""

try:
    from regretstop_optuna.callback import RegretBoundCallback
    from regretstop_optuna.check import check_study
    from regretstop_optuna.decision import certificate_of, should_stop
    from regretstop_optuna.plot import plot_regret_bound
    from regretstop_optuna.sampler import GPUCBSampler
except ModuleNotFoundError as error:
    if error.name != "optuna":
        raise
    raise ModuleNotFoundError(
        "regretstop_optuna needs Optuna: pip install 'regretstop[optuna]'", name=error.name
    ) from error

__all__ = [
    "GPUCBSampler",
    "RegretBoundCallback",
    "certificate_of",
    "check_study",
    "plot_regret_bound",
    "should_stop",
]
