"""Conditional studies: what the trials say of the branches, what is certified of them, and what is not."""

import itertools
import logging
import math

import optuna
import pytest
import regretstop_optuna.matplotlib
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial
from regretstop_optuna import (
    GPUCBSampler,
    RegretBoundCallback,
    certificate_of,
    plot_optimum,
    replay,
    should_stop,
)
from regretstop_optuna._digest import Digest, View
from regretstop_optuna._tree import Axis

from regretstop import GaussianProcess, OptimalityGap
from tests.integrations.optuna.objectives import proposal

UNIT = FloatDistribution(0.0, 1.0)
ABC = CategoricalDistribution(["a", "b", "c"])


def study_of(trials: list[tuple[dict, dict]], state: TrialState = TrialState.COMPLETE, **options) -> optuna.Study:
    """Return a study with these trials: parameters, and distributions where they are not the usual ones."""
    study = optuna.create_study(**options)
    for params, ranges in trials:
        add(study, params, ranges, state)
    return study


def add(study: optuna.Study, params: dict, ranges: dict | None = None, state=TrialState.COMPLETE, value=None) -> None:
    usual = {"p": ABC, "q": ABC, "k": IntDistribution(0, 3), "x": UNIT, "y": UNIT, "z": UNIT}
    distributions = {name: (ranges or {}).get(name, usual[name]) for name in params}
    given = float(len(study.trials)) if value is None else value
    values = [given] if state == TrialState.COMPLETE else None
    study.add_trial(create_trial(state=state, params=params, distributions=distributions, values=values))


def view_of(study: optuna.Study) -> View:
    return Digest().read(study.get_trials(deepcopy=False))


SIMPLE = [{"p": "a", "x": 0.1}, {"p": "b", "y": 0.3}, {"p": "c"}, {"p": "a", "x": 0.7}]


# ---- What the trials say -------------------------------------------------------------------------------------------


def test_a_category_that_decides_is_found() -> None:
    view = view_of(study_of([(params, {}) for params in SIMPLE]))
    assert view.obstacle is None
    assert view.tree.axes == {
        "p": Axis("p", ABC),
        "x": Axis("x", UNIT, {"p": (0.0,)}),
        "y": Axis("y", UNIT, {"p": (1.0,)}),
    }
    space = view.tree.space()
    assert [branch.active.tolist() for branch in space.branches] == [
        [True, True, False],
        [True, False, True],
        [True, False, False],
    ]
    assert view.joint == {"p": ABC}


def test_what_several_values_share_is_one_parameter() -> None:
    view = view_of(study_of([({"p": p, "x": 0.1}, {}) for p in "ab"] + [({"p": "c"}, {})]))
    assert view.tree.axes["x"] == Axis("x", UNIT, {"p": (0.0, 1.0)})


def test_branches_may_be_nested_and_integers_may_decide() -> None:
    trials = [{"p": p, "q": q, "z": 0.1} for p in "a" for q in "bc"]
    trials += [{"p": "a", "q": "a", "z": 0.2, "k": k} for k in range(3)]
    trials += [{"p": "a", "q": "a", "z": 0.2, "k": 3, "y": 0.5}, {"p": "b", "z": 0.4}, {"p": "c", "z": 0.4}]
    view = view_of(study_of([(params, {}) for params in trials]))
    assert view.obstacle is None
    assert view.tree.axes["q"].when == {"p": (0.0,)}
    assert view.tree.axes["k"].when == {"p": (0.0,), "q": (0.0,)}
    assert view.tree.axes["y"].when == {"p": (0.0,), "q": (0.0,), "k": (3.0,)}
    assert view.tree.axes["z"].when == {}
    point = view.tree.space().encode(trials[5])
    assert view.tree.from_space(view.tree.space().decode(point)) == pytest.approx(trials[5])


def test_a_parameter_that_needs_two_values_has_both() -> None:
    """`q` is always there, and decides about `x` in one branch of `p` only."""
    trials = [{"p": p, "q": q} | ({"x": 0.2} if (p, q) == ("b", "c") else {}) for p in "abc" for q in "abc"]
    view = view_of(study_of([(params, {}) for params in trials]))
    assert view.obstacle is None
    assert view.tree.axes["x"].when == {"p": (1.0,), "q": (2.0,)}


def test_decisions_that_have_nothing_to_do_with_each_other_have_an_axis_for_each_parameter() -> None:
    """p decides about x, q about y and about k, which decides about z; a tree has one of them below the other."""
    trials = []
    for p, q, k in itertools.product("abc", "abc", range(4)):
        below = {"y": 0.2} if q == "a" else {"k": k} | ({"z": 0.7} if k == 3 else {})
        trials.append({"p": p, "q": q} | ({"x": 0.5} if p == "a" else {}) | below)
    view = view_of(study_of([(params, {}) for params in trials]))
    assert view.obstacle is None
    assert {name: axis.when for name, axis in view.tree.axes.items()} == {
        "p": {},
        "q": {},
        "x": {"p": (0.0,)},
        "y": {"q": (0.0,)},
        "k": {"q": (1.0, 2.0)},
        "z": {"q": (1.0, 2.0), "k": (3.0,)},
    }
    assert len(view.tree.space().branches) == 2 * 3


def test_one_that_only_happens_to_agree_is_not_the_parent() -> None:
    """An integer with a value of its own in each trial tells all by chance; the category tells it for a reason."""
    many = {"k": IntDistribution(0, 19)}
    trials = [{"p": "abc"[i % 3], "k": i} | ({"x": 0.1} if i % 3 == 1 else {}) for i in range(14)]
    view = view_of(study_of([(params, many) for params in trials]))
    assert view.obstacle is None
    assert view.tree.axes["x"].when == {"p": (1.0,)}


def test_a_range_that_moves_with_a_category_is_a_parameter_for_each() -> None:
    wide = FloatDistribution(0.0, 10.0)
    trials = [({"p": "a", "x": 0.5}, {}), ({"p": "b", "x": 5.0}, {"x": wide}), ({"p": "c", "x": 0.1}, {})]
    view = view_of(study_of(trials))
    assert view.obstacle is None
    assert view.tree.axes == {
        "p": Axis("p", ABC),
        "x (p = 'a' or 'c')": Axis("x", UNIT, {"p": (0.0, 2.0)}),
        "x (p = 'b')": Axis("x", wide, {"p": (1.0,)}),
    }
    assert dict(view.modelled()[1].params) == {"p": "b", "x (p = 'b')": 5.0}
    assert view.tree.from_space({"p": "b", "x (p = 'b')": 5.0}) == {"p": "b", "x": 5.0}


def test_single_values_that_differ_from_branch_to_branch_are_no_parameters() -> None:
    one, two = FloatDistribution(1.0, 1.0), FloatDistribution(2.0, 2.0)
    trials = [({"p": "a", "x": 1.0, "y": 0.1}, {"x": one}), ({"p": "b", "x": 2.0, "y": 0.3}, {"x": two})]
    view = view_of(study_of([*trials, ({"p": "c", "x": 2.0, "y": 0.3}, {"x": two})]))
    assert view.obstacle is None
    assert view.tree.axes.keys() == {"p", "y"}


def test_a_contradiction_makes_another_tree() -> None:
    study = study_of([({"p": "a", "q": "b", "x": 0.1}, {}), ({"p": "b", "q": "c"}, {}), ({"p": "c", "q": "a"}, {})])
    assert view_of(study).tree.axes["x"].when == {"p": (0.0,)}
    add(study, {"p": "a", "q": "c"})
    assert view_of(study).tree.axes["x"].when == {"q": (1.0,)}
    add(study, {"p": "b", "q": "b"})  # neither: where both are so
    view = view_of(study)
    assert len(view.tree.axes["x"].when) == 2


# ---- What is not known ---------------------------------------------------------------------------------------------


def test_a_value_that_no_trial_has_is_named_and_tried_next(log) -> None:
    study = study_of([(params, {}) for params in SIMPLE[:2]], sampler=GPUCBSampler(seed=0))
    reason = certificate_of(study, OptimalityGap(100.0)).reason
    assert reason.startswith("no trial with 'p' = 'c' has a value yet: which parameters there are depends on 'p'")
    trial = study.ask()
    assert trial.suggest_categorical("p", ABC.choices) == "c"
    # Another worker does not try it as well.
    other = study.ask()
    assert other.suggest_categorical("p", ABC.choices) != "c"
    study.tell(trial, 1.0)
    assert view_of(study).obstacle is None
    assert not log.at(logging.WARNING)


def test_an_unknown_value_below_another_is_tried_with_it() -> None:
    trials = [{"p": "a", "q": "a", "x": 0.1}, {"p": "a", "q": "b"}, {"p": "b"}, {"p": "c"}]
    study = study_of([(params, {}) for params in trials], sampler=GPUCBSampler(seed=0))
    assert view_of(study).obstacle.startswith("no trial with 'q' = 'c', where 'p' = 'a' has a value yet")
    trial = study.ask()
    assert (trial.suggest_categorical("p", ABC.choices), trial.suggest_categorical("q", ABC.choices)) == ("a", "c")


@pytest.mark.parametrize("state", [TrialState.FAIL, TrialState.PRUNED])
def test_a_value_that_leads_to_no_value_stays_unknown_and_is_not_tried_for_ever(state) -> None:
    """A first attempt may fail by accident: after three it is taken for the value's own fault."""
    study = study_of([(params, {}) for params in SIMPLE[:2]], sampler=GPUCBSampler(seed=0))
    for left in ([{"p": 2.0}], [{"p": 2.0}], []):
        add(study, {"p": "c"}, state=state)
        view = view_of(study)
        assert "'p' = 'c'" in view.obstacle
        assert view.to_try == left


def test_a_pruned_trial_with_more_than_its_branch_has_is_in_the_way() -> None:
    study = study_of([(params, {}) for params in SIMPLE])
    add(study, {"p": "a"}, state=TrialState.PRUNED)  # it had no time to suggest x
    assert view_of(study).obstacle is None
    add(study, {"p": "a", "z": 0.3}, state=TrialState.PRUNED)
    assert view_of(study).obstacle.startswith("'z' is not in every trial with the same range")


def test_what_a_number_decides_is_refused() -> None:
    study = study_of([({"x": 0.1 * i} | ({"y": 0.2} if i > 4 else {}), {}) for i in range(9)])
    view = view_of(study)
    assert view.obstacle == (
        "'y' is not in every trial with the same range, and no categorical parameter, or integer one with at most 20 "
        "values, tells in which"
    )
    assert view.tree.axes == {"x": Axis("x", UNIT)}


def test_an_integer_with_many_values_does_not_decide() -> None:
    many = {"k": IntDistribution(0, 20)}
    study = study_of([({"k": i} | ({"y": 0.2} if i > 4 else {}), many) for i in range(9)])
    assert view_of(study).obstacle.startswith("'y' is not in every trial")


def test_a_range_that_moves_with_a_number_is_refused_however_many_there_are() -> None:
    trials = [({"p": "a", "x": 0.0, "y": 0.1}, {"x": FloatDistribution(0.0, 1.0 + i)}) for i in range(40)]
    view = view_of(study_of(trials))
    assert view.obstacle.startswith("'x' is not in every trial with the same range")


# ---- Searches ------------------------------------------------------------------------------------------------------


def classifier(trial: optuna.Trial) -> float:
    """Shaped like Optuna's example: one of two models, each with a parameter of its own, and one with nothing."""
    model = trial.suggest_categorical("classifier", ["SVC", "forest", "none"])
    if model == "SVC":
        return 1.0 - 0.02 * (math.log10(trial.suggest_float("svc_c", 1e-3, 1e3, log=True)) - 1.0) ** 2
    if model == "forest":
        return 0.9 - 0.1 * abs(math.log2(trial.suggest_int("max_depth", 2, 32, log=True)) - 3.0)
    return 0.3


SAMPLERS = {"GPUCBSampler": GPUCBSampler, "TPESampler": optuna.samplers.TPESampler}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_a_conditional_study_ends_by_a_true_certificate(sampler, seed: int, log) -> None:
    study = optuna.create_study(direction="maximize", sampler=sampler(seed=seed))
    study.optimize(classifier, n_trials=100, callbacks=[RegretBoundCallback(epsilon=0.05)])
    certificate = certificate_of(study)
    assert certificate.stop
    assert certificate.guarantee == "model"
    assert 1.0 - certificate.incumbent_value <= 0.05
    assert len(study.trials) < 100
    assert {t.params["classifier"] for t in study.trials} == {"SVC", "forest", "none"}
    if sampler is GPUCBSampler:
        assert not [line for line in log.at(logging.WARNING) if "sampled by" in line]
        # From the fifth trial on, what the objective asked for is what was proposed.
        assert all(proposal(t).keys() == t.params.keys() for t in study.trials[-3:])


def test_a_stored_conditional_study_goes_on_elsewhere(tmp_path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(storage=storage, study_name="s", direction="maximize", sampler=GPUCBSampler(seed=0))
    study.optimize(classifier, n_trials=100, callbacks=[RegretBoundCallback(epsilon=0.05)])
    again = optuna.load_study(storage=storage, study_name="s", sampler=GPUCBSampler(seed=0))
    n = len(again.trials)
    assert should_stop(again, epsilon=0.05)
    assert certificate_of(again).incumbent_value == certificate_of(study).incumbent_value
    again.optimize(classifier, n_trials=2)
    assert len(again.trials) == n + 2
    assert should_stop(again, epsilon=0.05)


def test_a_decision_falls_with_the_space_that_it_was_about() -> None:
    """A branch that the study had not shown: its trial is explained, but the certificate knew nothing of it."""
    study = optuna.create_study(direction="maximize", sampler=GPUCBSampler(seed=0))
    study.optimize(classifier, n_trials=100, callbacks=[RegretBoundCallback(epsilon=0.05)])
    assert should_stop(study)
    distributions = {**study.trials[-1].distributions, "new": UNIT}
    for name in ("SVC", "forest", "none"):
        like = next(t for t in study.trials if t.params["classifier"] == name)
        distributions = like.distributions | ({"new": UNIT} if name == "none" else {})
        params = like.params | ({"new": 0.5} if name == "none" else {})
        study.add_trial(create_trial(params=params, distributions=distributions, values=[0.3]))
    assert not should_stop(study)


def test_everything_that_looks_at_a_study_sees_the_branches() -> None:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(classifier, n_trials=30)
    found = replay(study, epsilon=0.05)
    assert math.isfinite(found.certificates[-1].bound)
    for plot in (plot_optimum, regretstop_optuna.matplotlib.plot_optimum):
        assert plot(study) is not None
        assert plot(study, params=["svc_c"]) is not None
        assert plot(study, params=["classifier", "svc_c"]) is not None
        with pytest.raises(ValueError, match=r"which has not all of params, got \['max_depth'\]"):
            plot(study, params=["max_depth"])


def test_ranges_that_move_are_searched_each_in_its_own() -> None:
    def objective(trial: optuna.Trial) -> float:
        wide = trial.suggest_categorical("wide", [False, True])
        return (trial.suggest_float("x", 0, 10 if wide else 1) - 4.0) ** 2

    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    study.optimize(objective, n_trials=60, callbacks=[RegretBoundCallback(epsilon=0.5)])
    assert certificate_of(study).stop
    assert study.best_value < 0.5
    assert all(proposal(t).keys() == {"wide", "x"} for t in study.trials[4:])


def test_an_integer_decides_how_many_there_are() -> None:
    """Layers, each with its units: the textbook of define-by-run."""

    def objective(trial: optuna.Trial) -> float:
        n = trial.suggest_int("n_layers", 1, 3)
        return sum((trial.suggest_float(f"units_{i}", 0, 1) - 0.5) ** 2 for i in range(n)) + 0.1 * (3 - n)

    study = optuna.create_study(sampler=GPUCBSampler(seed=0, surrogate=GaussianProcess(noise_std=0.0)))
    study.optimize(objective, n_trials=80, callbacks=[RegretBoundCallback(epsilon=0.1)])
    assert certificate_of(study).stop
    assert study.best_value < 0.1
    view = view_of(study)
    assert view.tree.axes["units_1"].when == {"n_layers": (2.0, 3.0)}


def test_parallel_workers_share_a_conditional_study() -> None:
    study = optuna.create_study(direction="maximize", sampler=GPUCBSampler(seed=0))
    study.optimize(classifier, n_trials=60, n_jobs=3, callbacks=[RegretBoundCallback(epsilon=0.05)])
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert 1.0 - study.best_value <= 0.05


def test_an_enqueued_value_that_is_none_of_its_parents_choices_does_no_harm() -> None:
    study = study_of([(params, {}) for params in SIMPLE], sampler=GPUCBSampler(seed=0))
    study.enqueue_trial({"p": "nope", "x": 0.3}, skip_if_exists=True)
    study.ask()  # it runs, with that value; Optuna itself raises where the objective suggests it
    other = study.ask()
    other.suggest_categorical("p", ABC.choices)
    assert proposal(study.trials[-1]).keys() <= {"p", "x", "y"}


def test_values_that_nobody_has_tried_are_warned_of_once(log) -> None:
    """They are tried one after the other, each with a reason of its own."""

    def objective(trial: optuna.Trial) -> float:
        branch = trial.suggest_categorical("branch", list("abcdefgh"))
        return trial.suggest_float(f"of {branch}", 0.0, 1.0)

    study = optuna.create_study(sampler=GPUCBSampler(seed=0))
    reasons: set[str] = set()
    callbacks = [RegretBoundCallback(epsilon=1e-3), lambda study, _: reasons.add(certificate_of(study).reason)]
    study.optimize(objective, n_trials=10, callbacks=callbacks)
    assert sum("has a value yet" in reason for reason in reasons) > 3
    (warning,) = [said for said in log.at(logging.WARNING) if "No regret bound" in said]
    assert "no trial with 'branch' = " in warning
