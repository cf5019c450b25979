"""A process that works on a study in a SQLite file.

usage: worker.py URL N_TRIALS EPSILON [kill-in-trial N | kill-before-decision N]
"""

import os
import signal
import sys
import time

import optuna
from optuna.storages import RDBStorage
from regretstop_optuna import GPUCBSampler, RegretBoundCallback

from regretstop import OptimalityGap


def main(url: str, n_trials: int, epsilon: float, death: str, at: int) -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", -5, 5)
        if death == "kill-in-trial" and trial.number == at:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.02)
        return (x - 1) ** 2

    def before_decision(_: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if death == "kill-before-decision" and trial.number == at:
            os.kill(os.getpid(), signal.SIGKILL)

    storage = RDBStorage(url, engine_kwargs={"connect_args": {"timeout": 600}})
    study = optuna.load_study(study_name="shared", storage=storage, sampler=GPUCBSampler(seed=0))
    callback = RegretBoundCallback(rule=OptimalityGap(epsilon=epsilon, beta="grid"))
    study.optimize(objective, n_trials=n_trials, callbacks=[before_decision, callback])


if __name__ == "__main__":
    url, n_trials, epsilon, death, at = (*sys.argv[1:], "", "-1")[:5]
    main(url, int(n_trials), float(epsilon), death, int(at))
