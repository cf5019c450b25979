import optuna
import optunahub


def test_the_sampler_searches() -> None:
    module = optunahub.load_local_module("samplers/gp_ucb_regret_bound", registry_root="package")
    study = optuna.create_study(sampler=module.GPUCBSampler(seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", -2.0, 2.0) - 0.7) ** 2, n_trials=15)
    assert study.best_value < 0.01
