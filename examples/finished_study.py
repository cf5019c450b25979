"""Make a study of 100 trials with TPE in an SQLite file, and ask afterwards when it could have stopped.

python examples/finished_study.py study.db
regretstop check study.db --epsilon 0.01 --html report.html
"""

import math
import sys

import optuna
from regretstop_optuna import replay


def objective(trial: optuna.Trial) -> float:
    """An accuracy that peaks at 0.95."""
    lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    layers = trial.suggest_int("layers", 1, 8)
    dropout = trial.suggest_float("dropout", 0.0, 0.5)
    activation = trial.suggest_categorical("activation", ["relu", "gelu"])
    lost = 0.02 * (math.log10(lr) + 2.5) ** 2 + 0.004 * (layers - 4) ** 2 + 0.2 * (dropout - 0.2) ** 2
    return 0.95 - lost - (0.01 if activation == "relu" else 0.0)


optuna.logging.set_verbosity(optuna.logging.WARNING)
path = sys.argv[1] if len(sys.argv) > 1 else "study.db"
study = optuna.create_study(
    study_name="finished",
    storage=f"sqlite:///{path}",
    direction="maximize",
    sampler=optuna.samplers.TPESampler(seed=0),
)
study.optimize(objective, n_trials=100)

found = replay(study, epsilon=0.01)
print(f"{len(study.trials)} trials, best value {study.best_value:.4f}; it would have stopped after {found.stop}")
print(found.certificates[-1])
