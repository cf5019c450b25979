"""Stop any Optuna sampler, here TPE: the callback fits its own model to the study's trials."""

import optuna
from optuna.samplers import TPESampler
from regretstop_optuna import RegretBoundCallback, certificate_of


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -2.0, 2.0)
    y = trial.suggest_int("y", -3, 3)
    return (x - 0.7) ** 2 + 0.3 * (y - 1) ** 2


study = optuna.create_study(direction="minimize", sampler=TPESampler(seed=0))
study.optimize(objective, n_trials=100, callbacks=[RegretBoundCallback(epsilon=0.1)])

print(f"{len(study.trials)} trials, best value {study.best_value:.4f} at {study.best_params}")
print(certificate_of(study))
