"""Real tuning jobs: models and their parameters, on data that come with scikit-learn.

Scores are those of cross-validation. Some jobs shuffle folds and models anew in every trial, so that a score is noisy;
the others keep both, so that it is jagged and exact.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from regretstop import Categorical, Float, Int, Space

Params = dict[str, Any]


@dataclass(frozen=True)
class TuningJob:
    """A job.

    Attributes:
        space: The parameters.
        build: Returns the model with these parameters and a seed.
        data: Name of the data.
        is_noisy: Whether folds and seed are new in every trial.
        folds: Of the cross-validation.
        direction: Of the score: the accuracy, or of a regression the root mean square error.
    """

    space: Space
    build: Callable[[Params, int], Any]
    data: Literal["wine", "cancer", "digits", "diabetes"]
    is_noisy: bool
    folds: int = 5

    @property
    def direction(self) -> Literal["maximize", "minimize"]:
        """Of the score: the accuracy, or of a regression the root mean square error."""
        return "minimize" if self.data == "diabetes" else "maximize"

    @property
    def best_possible(self) -> float:
        """The best value that the score could ever have."""
        return 0.0 if self.data == "diabetes" else 1.0

    def score(self, params: Params, seed: int) -> float:
        """Return the score; the seed is that of the trial, which only a noisy job has a use for."""
        return float(np.mean(self.fold_scores(params, seed)))

    def fold_scores(self, params: Params, seed: int) -> list[float]:
        """Return the score of each fold."""
        from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

        points, target = _data(self.data)
        seed = seed if self.is_noisy else 0
        splitter = (KFold if self.data == "diabetes" else StratifiedKFold)(self.folds, shuffle=True, random_state=seed)
        scoring = "neg_root_mean_squared_error" if self.data == "diabetes" else "accuracy"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that thirty epochs were not enough is for the score to say
            scores = cross_val_score(self.build(params, seed), points, target, cv=splitter, scoring=scoring)
        return [float(each) for each in (-scores if self.data == "diabetes" else scores)]


@cache
def _data(name: str) -> tuple[Any, Any]:
    from sklearn import datasets

    load = {"wine": "load_wine", "cancer": "load_breast_cancer", "digits": "load_digits", "diabetes": "load_diabetes"}
    points, target = getattr(datasets, load[name])(return_X_y=True)
    return (points[:600], target[:600]) if name == "digits" else (points, target)


def _svm(params: Params, seed: int) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return make_pipeline(StandardScaler(), SVC(**params))


def _neighbors(params: Params, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

    scalers = {"standard": StandardScaler, "min-max": MinMaxScaler, "robust": RobustScaler}
    rest = {name: value for name, value in params.items() if name != "scaler"}
    return make_pipeline(scalers[params["scaler"]](), KNeighborsClassifier(**rest))


def _tree(params: Params, seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(**params, random_state=seed)


def _forest(params: Params, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(**params, random_state=seed)


def _pipeline(params: Params, seed: int) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    reduce = PCA(params["n_components"], whiten=params["whiten"], random_state=seed)
    return make_pipeline(reduce, SVC(C=params["C"], gamma=params["gamma"]))


def _support(params: Params, seed: int) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    return TransformedTargetRegressor(make_pipeline(StandardScaler(), SVR(**params)), transformer=StandardScaler())


def _boosting(params: Params, seed: int) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(**params, random_state=seed)


def _gradient(params: Params, seed: int) -> Any:
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fixed = {"learning_rate": "invscaling", "max_iter": 20, "tol": None, "random_state": seed}
    return make_pipeline(StandardScaler(), SGDClassifier(penalty="elasticnet", **params, **fixed))


def _network(params: Params, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sizes = (params["width"],) * params["layers"]
    rest = {name: value for name, value in params.items() if name not in ("width", "layers")}
    network = MLPClassifier(sizes, **rest, max_iter=30, tol=0.0, n_iter_no_change=30, random_state=seed)
    return make_pipeline(StandardScaler(), network)


def _histograms(params: Params, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(**params, max_iter=30, early_stopping=False, random_state=seed)


def _lightgbm(params: Params, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(**params, subsample_freq=1, n_jobs=1, verbose=-1, random_state=seed)


def _xgboost(params: Params, seed: int) -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(**params, tree_method="hist", n_jobs=1, random_state=seed)


def _convolutions(params: Params, seed: int) -> Any:
    from benchmarks.convolutions import Convolutions

    return Convolutions(**params, seed=seed)


JOBS: dict[str, TuningJob] = {
    "SVM, wine": TuningJob(
        Space({"C": Float(1e-3, 1e3, log=True), "gamma": Float(1e-4, 10.0, log=True)}), _svm, "wine", is_noisy=False
    ),
    "neighbors, cancer": TuningJob(
        Space(
            {
                "n_neighbors": Int(1, 40, log=True),
                "weights": Categorical(["uniform", "distance"]),
                "p": Float(1.0, 4.0),
                "scaler": Categorical(["standard", "min-max", "robust"]),
            }
        ),
        _neighbors,
        "cancer",
        is_noisy=False,
    ),
    "PCA and SVM, digits": TuningJob(
        Space(
            {
                "n_components": Int(2, 60),
                "whiten": Categorical([False, True]),
                "C": Float(1e-2, 1e3, log=True),
                "gamma": Float(1e-6, 1.0, log=True),
            }
        ),
        _pipeline,
        "digits",
        is_noisy=False,
    ),
    "support vectors, diabetes": TuningJob(
        Space(
            {
                "C": Float(1e-2, 1e2, log=True),
                "epsilon": Float(1e-3, 1.0, log=True),
                "gamma": Float(1e-4, 1.0, log=True),
                "kernel": Categorical(["rbf", "sigmoid"]),
            }
        ),
        _support,
        "diabetes",
        is_noisy=False,
    ),
    "tree, cancer": TuningJob(
        Space(
            {
                "max_depth": Int(1, 16),
                "min_samples_leaf": Int(1, 50, log=True),
                "criterion": Categorical(["gini", "entropy"]),
                "ccp_alpha": Float(1e-5, 1e-1, log=True),
                "max_features": Float(0.1, 1.0),
            }
        ),
        _tree,
        "cancer",
        is_noisy=True,
    ),
    "forest, wine": TuningJob(
        Space(
            {
                "n_estimators": Int(5, 60),
                "max_depth": Int(2, 32, log=True),
                "max_features": Float(0.1, 1.0),
                "min_samples_leaf": Int(1, 20),
                "criterion": Categorical(["gini", "entropy", "log_loss"]),
            }
        ),
        _forest,
        "wine",
        is_noisy=True,
    ),
    "boosting, diabetes": TuningJob(
        Space(
            {
                "learning_rate": Float(1e-2, 0.5, log=True),
                "n_estimators": Int(10, 120),
                "max_depth": Int(1, 6),
                "min_samples_leaf": Int(1, 40),
                "subsample": Float(0.4, 1.0),
            }
        ),
        _boosting,
        "diabetes",
        is_noisy=False,
    ),
    "gradient descent, digits": TuningJob(
        Space(
            {
                "alpha": Float(1e-6, 1e-1, log=True),
                "loss": Categorical(["hinge", "log_loss", "modified_huber"]),
                "l1_ratio": Float(0.0, 1.0),
                "eta0": Float(1e-4, 1.0, log=True),
                "power_t": Float(0.1, 1.0),
                "average": Categorical([False, True]),
            }
        ),
        _gradient,
        "digits",
        is_noisy=True,
    ),
    "network, wine": TuningJob(
        Space(
            {
                "layers": Int(1, 3),
                "width": Int(4, 64, log=True),
                "alpha": Float(1e-6, 1.0, log=True),
                "learning_rate_init": Float(1e-4, 1e-1, log=True),
                "batch_size": Int(8, 64, log=True),
                "activation": Categorical(["relu", "tanh"]),
            }
        ),
        _network,
        "wine",
        is_noisy=True,
    ),
    "histograms, cancer": TuningJob(
        Space(
            {
                "learning_rate": Float(1e-2, 1.0, log=True),
                "max_leaf_nodes": Int(2, 64, log=True),
                "max_depth": Int(1, 12),
                "min_samples_leaf": Int(1, 80, log=True),
                "l2_regularization": Float(1e-4, 1e2, log=True),
                "max_bins": Int(4, 255, log=True),
                "max_features": Float(0.1, 1.0),
            }
        ),
        _histograms,
        "cancer",
        is_noisy=True,
    ),
    "LightGBM, cancer": TuningJob(
        Space(
            {
                "n_estimators": Int(5, 60),
                "learning_rate": Float(1e-2, 1.0, log=True),
                "num_leaves": Int(2, 64, log=True),
                "max_depth": Int(1, 12),
                "min_child_samples": Int(1, 60, log=True),
                "subsample": Float(0.4, 1.0),
                "colsample_bytree": Float(0.1, 1.0),
                "reg_alpha": Float(1e-6, 10.0, log=True),
                "reg_lambda": Float(1e-6, 10.0, log=True),
            }
        ),
        _lightgbm,
        "cancer",
        is_noisy=True,
    ),
    "XGBoost, diabetes": TuningJob(
        Space(
            {
                "n_estimators": Int(5, 60),
                "learning_rate": Float(1e-2, 1.0, log=True),
                "max_depth": Int(1, 8),
                "min_child_weight": Float(1.0, 50.0, log=True),
                "subsample": Float(0.4, 1.0),
                "colsample_bytree": Float(0.2, 1.0),
                "colsample_bynode": Float(0.2, 1.0),
                "gamma": Float(1e-2, 1e4, log=True),
                "reg_alpha": Float(1e-3, 1e3, log=True),
                "reg_lambda": Float(1e-3, 1e3, log=True),
                "max_bin": Int(4, 256, log=True),
                "grow_policy": Categorical(["depthwise", "lossguide"]),
            }
        ),
        _xgboost,
        "diabetes",
        is_noisy=False,
    ),
    "convolutions, digits": TuningJob(
        Space(
            {
                "channels": Int(2, 16, log=True),
                "width": Int(8, 64, log=True),
                "learning_rate": Float(1e-4, 1e-1, log=True),
                "weight_decay": Float(1e-6, 1.0, log=True),
                "dropout": Float(0.0, 0.7),
            }
        ),
        _convolutions,
        "digits",
        is_noisy=True,
        folds=3,
    ),
}
