import optuna
import optunahub


module = optunahub.load_module(package="callbacks/regret_bound")


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -2.0, 2.0)
    return (x - 0.7) ** 2


study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(objective, n_trials=100, callbacks=[module.RegretBoundCallback(epsilon=0.1)])
print(module.certificate_of(study))
