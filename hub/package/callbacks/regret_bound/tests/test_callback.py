import optuna
import optunahub


def test_the_callback_stops_a_study() -> None:
    module = optunahub.load_local_module("callbacks/regret_bound", registry_root="package")
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    callback = module.RegretBoundCallback(epsilon=0.1)
    study.optimize(
        lambda trial: (trial.suggest_float("x", -2.0, 2.0) - 0.7) ** 2,
        n_trials=100,
        callbacks=[callback],
    )
    certificate = module.certificate_of(study)
    assert certificate is not None
    assert certificate.stop
    assert len(study.trials) < 100
