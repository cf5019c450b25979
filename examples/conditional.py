"""Which model, and its parameters: each of two classifiers has one of its own. The branches are read off the trials."""

import optuna
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

X, y = load_iris(return_X_y=True)


def objective(trial: optuna.Trial) -> float:
    if trial.suggest_categorical("classifier", ["SVC", "forest"]) == "SVC":
        model = SVC(C=trial.suggest_float("svc_c", 1e-3, 1e3, log=True), gamma="auto")
    else:
        max_depth = trial.suggest_int("max_depth", 2, 32, log=True)
        model = RandomForestClassifier(max_depth=max_depth, n_estimators=10, random_state=0)
    return float(cross_val_score(model, X, y, cv=3).mean())


study = optuna.create_study(direction="maximize", sampler=GPUCBSampler(seed=0))
study.optimize(objective, n_trials=100, callbacks=[RegretBoundCallback(epsilon=0.01)])

print(f"{len(study.trials)} trials, best value {study.best_value:.4f} at {study.best_params}")
print(certificate_of(study))
