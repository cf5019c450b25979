import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -2.0, 2.0)
    return (x - 0.7) ** 2


sampler = optunahub.load_module(package="samplers/gp_ucb_regret_bound").GPUCBSampler(seed=0)
study = optuna.create_study(sampler=sampler)
study.optimize(objective, n_trials=20)
print(study.best_params)
