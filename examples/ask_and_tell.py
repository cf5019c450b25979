"""Stop an ask-and-tell loop: `should_stop` looks at the study whenever you call it."""

import math

import optuna
from regretstop_optuna import GPUCBSampler, certificate_of, should_stop

study = optuna.create_study(direction="maximize", sampler=GPUCBSampler(seed=0))

while len(study.trials) < 100 and not should_stop(study, epsilon=0.05):
    trial = study.ask()
    lr = trial.suggest_float("lr", 1e-4, 1.0, log=True)
    layers = trial.suggest_int("layers", 1, 6)
    score = 1.0 - 0.05 * (layers - 3) ** 2 - 0.1 * math.log10(lr / 0.03) ** 2
    study.tell(trial, score)

print(f"{len(study.trials)} trials, best value {study.best_value:.4f} at {study.best_params}")
print(certificate_of(study))
