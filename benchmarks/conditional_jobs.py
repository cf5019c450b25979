"""Real tuning jobs with conditional parameters, as define-by-run objectives have them: which there are is chosen, too.

Folds and models are shuffled anew in every trial, so that a score is noisy.
"""

from typing import Any

from benchmarks.tuning_jobs import Params, TuningJob
from regretstop import Categorical, Float, Int, Space

_EPOCHS = 20


def _standardized(network: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), network)


def _layers(params: Params, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    sizes = [params[f"units_l{layer}"] for layer in range(params["n_layers"])]
    rest = {name: params[name] for name in ("alpha", "learning_rate_init")}
    return _standardized(MLPClassifier(sizes, **rest, max_iter=_EPOCHS, tol=0.0, random_state=seed))


def _optimizer(params: Params, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    # Each optimizer has a learning rate of its own, in a range of its own; the network has one word for both.
    names = {"optimizer": "solver", "sgd_lr": "learning_rate_init", "adam_lr": "learning_rate_init"}
    names |= {"sgd_momentum": "momentum", "adam_beta1": "beta_1", "adam_beta2": "beta_2"}
    known = {names.get(name, name): value for name, value in params.items()}
    return _standardized(MLPClassifier((16,), **known, max_iter=_EPOCHS, tol=0.0, random_state=seed))


def _pipeline(params: Params, seed: int) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import SelectKBest
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler
    from sklearn.svm import SVC

    scalers = {"standard": StandardScaler, "minmax": MinMaxScaler}
    steps: list[Any] = [scalers[params["scaler"]]()] if params["scaler"] in scalers else []
    if params["reduction"] == "pca":
        steps.append(PCA(params["n_components"], random_state=seed))
    elif params["reduction"] == "kbest":
        steps.append(SelectKBest(k=params["k"]))
    if params["classifier"] == "svm":
        steps.append(SVC(C=params["C"], gamma=params["gamma"]))
    else:
        steps.append(KNeighborsClassifier(params["n_neighbors"], weights=params["weights"]))
    return make_pipeline(*steps)


CONDITIONAL_JOBS: dict[str, TuningJob] = {
    "network": TuningJob(
        Space(
            {
                "n_layers": Int(1, 3),
                "units_l0": Int(4, 128, log=True),
                "units_l1": Int(4, 128, log=True),
                "units_l2": Int(4, 128, log=True),
                "alpha": Float(1e-6, 10.0, log=True),
                "learning_rate_init": Float(1e-4, 1e-1, log=True),
            },
            when={"units_l1": {"n_layers": [2, 3]}, "units_l2": {"n_layers": [3]}},
        ),
        _layers,
        "wine",
        is_noisy=True,
        folds=2,
    ),
    "optimizer": TuningJob(
        Space(
            {
                "alpha": Float(1e-6, 10.0, log=True),
                "optimizer": Categorical(["sgd", "adam"]),
                "sgd_lr": Float(1e-4, 1.0, log=True),
                "sgd_momentum": Float(0.0, 0.99),
                "adam_lr": Float(1e-5, 1e-1, log=True),
                "adam_beta1": Float(0.5, 0.99),
                "adam_beta2": Float(0.9, 0.9999),
            },
            when={
                name: {"optimizer": [name.partition("_")[0]]}
                for name in ("sgd_lr", "sgd_momentum", "adam_lr", "adam_beta1", "adam_beta2")
            },
        ),
        _optimizer,
        "digits",
        is_noisy=True,
        folds=2,
    ),
    "pipeline": TuningJob(
        Space(
            {
                "scaler": Categorical(["none", "standard", "minmax"]),
                "reduction": Categorical(["none", "pca", "kbest"]),
                "n_components": Int(1, 13),
                "k": Int(1, 13),
                "classifier": Categorical(["svm", "neighbors"]),
                "C": Float(1e-3, 1e3, log=True),
                "gamma": Float(1e-4, 10.0, log=True),
                "n_neighbors": Int(1, 40, log=True),
                "weights": Categorical(["uniform", "distance"]),
            },
            when={
                "n_components": {"reduction": ["pca"]},
                "k": {"reduction": ["kbest"]},
                "C": {"classifier": ["svm"]},
                "gamma": {"classifier": ["svm"]},
                "n_neighbors": {"classifier": ["neighbors"]},
                "weights": {"classifier": ["neighbors"]},
            },
        ),
        _pipeline,
        "wine",
        is_noisy=True,
        folds=3,
    ),
}
