import copy
import pickle

import numpy as np
import pytest
from regretstop_skopt import RegretBoundStopper
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from skopt import BayesSearchCV
from skopt.space import Categorical, Integer, Real

from regretstop import OptimalityGap
from tests.integrations.skopt.objectives import REPEATED

pytestmark = pytest.mark.filterwarnings(REPEATED)

ALPHA = {"alpha": Real(1e-3, 1e3, prior="log-uniform")}


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(40, 8))
    return inputs, inputs[:, 0] + 0.5 * rng.normal(size=40)


def search(spaces=ALPHA, estimator=None, **options) -> BayesSearchCV:
    options = {"n_iter": 25, "cv": 3, "random_state": 0, "optimizer_kwargs": {"n_initial_points": 5}, **options}
    return BayesSearchCV(Ridge() if estimator is None else estimator, spaces, **options)


def test_epsilon_is_in_units_of_the_score():
    """R² ranges over about 0.7 here: half a hundredth of it is reached before 40 candidates."""
    stopper = RegretBoundStopper(0.005)
    fitted = search(n_iter=40).fit(*data(), callback=stopper)
    scores = fitted.cv_results_["mean_test_score"]
    certificate = stopper.certificate
    assert len(scores) < 40
    assert certificate.stop
    assert certificate.incumbent_value == -scores[certificate.incumbent]
    assert fitted.best_score_ - scores[certificate.incumbent] < 0.005


def test_a_batch_of_candidates_is_assessed_at_once():
    stopper = RegretBoundStopper(1e-9)
    search(n_iter=7, n_points=3).fit(*data(), callback=stopper)
    assert [c.n_observations for c in stopper.certificates] == [3, 6, 7]


def test_each_space_is_certified_on_its_own():
    pipeline = Pipeline([("model", Ridge())])
    spaces = [
        ({"model": Categorical([Ridge()]), "model__alpha": Real(1e-3, 1e3, prior="log-uniform")}, 20),
        ({"model": Categorical([KNeighborsRegressor()]), "model__n_neighbors": Integer(1, 8)}, 20),
    ]
    seen: list[tuple[int, bool]] = []
    stopper = RegretBoundStopper(rule=OptimalityGap(epsilon=0.3, beta="grid"))

    def watch(result) -> None:
        seen.append((len(stopper.certificates), stopper.certificate.stop))

    fitted = search(spaces, pipeline).fit(*data(), callback=[stopper, watch])
    lengths = [len(result.x_iters) for result in fitted.optimizer_results_]
    assert [n for n, _ in seen] == [*range(1, lengths[0] + 1), *range(1, lengths[1] + 1)]
    assert [stop for _, stop in seen] == [False] * (lengths[0] - 1) + [True] + [False] * (lengths[1] - 1) + [True]
    assert {name for o in stopper.observations for name in o.params} == {"model", "model__n_neighbors"}


def test_spaces_that_are_certified_at_their_share_of_delta_certify_the_union():
    pipeline = Pipeline([("model", Ridge())])
    spaces = [
        ({"model": Categorical([Ridge()]), "model__alpha": Real(1e-3, 1e3, prior="log-uniform")}, 25),
        ({"model": Categorical([KNeighborsRegressor()]), "model__n_neighbors": Integer(1, 8)}, 25),
    ]
    stopper = RegretBoundStopper(0.1, delta=0.05 / 2)
    fitted = search(spaces, pipeline).fit(*data(), callback=stopper)
    certified = []
    for result in fitted.optimizer_results_:
        assert stopper(result)
        certified.append(stopper.certificate)
    assert all(len(result.x_iters) < 25 for result in fitted.optimizer_results_)
    grid = [
        {"model": [Ridge()], "model__alpha": np.logspace(-3, 3, 100)},
        {"model": [KNeighborsRegressor()], "model__n_neighbors": list(range(1, 9))},
    ]
    optimum = GridSearchCV(pipeline, grid, cv=3).fit(*data()).best_score_
    assert optimum - max(-certificate.incumbent_value for certificate in certified) < 0.1


def test_two_equal_spaces_are_two_searches():
    stopper = RegretBoundStopper(1e-9)
    search([(ALPHA, 4), (ALPHA, 3)]).fit(*data(), callback=stopper)
    assert [c.n_observations for c in stopper.certificates] == [1, 2, 3]


def test_the_fitted_search_can_be_cloned_copied_and_pickled():
    stopper = RegretBoundStopper(1e-9)
    fitted = search(n_iter=6).fit(*data(), callback=stopper)
    assert clone(fitted).fit(*data()).best_params_ == fitted.best_params_
    for again in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert again.best_params_ == fitted.best_params_
        (kept,) = again._callbacks
        assert kept.certificates == stopper.certificates


@pytest.mark.filterwarnings("ignore:(?s).*fits failed:sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite:UserWarning")
def test_candidates_that_fail_to_fit_are_left_out():
    """With `error_score` the score of a failed candidate is NaN; scikit-optimize bears it among its initial points."""
    spaces = {"solver": Categorical(["svd", "cholesky", "no such solver"]), **ALPHA}
    stopper = RegretBoundStopper(1e-9)
    options = {"n_iter": 8, "n_points": 4, "optimizer_kwargs": {"n_initial_points": 9, "base_estimator": "RF"}}
    fitted = search(spaces, error_score=np.nan, **options).fit(*data(), callback=stopper)
    failed = fitted.cv_results_["param_solver"] == "no such solver"
    assert 0 < stopper.certificate.n_excluded == np.sum(failed) < 8
