import contextlib
import logging
import math
import pickle
import threading
import time

import optuna
import pytest
from optuna.trial import TrialState
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, should_stop

from regretstop import AcquisitionThreshold, DeltaCB, DeltaES, GaussianProcess, Matern52, OptimalityGap, UCBbr
from regretstop.prose import rounded_up
from tests.integrations.optuna.objectives import bumps, parabola, table


def new_study(direction: str = "minimize", seed: int = 0) -> optuna.Study:
    return optuna.create_study(direction=direction, sampler=GPUCBSampler(seed=seed))


def stored(study: optuna.Study, rule: str = "UCBbr") -> list[tuple]:
    """The history that the study holds of a rule: a tuple for each certificate that was new."""
    columns = study.user_attrs["regretstop:history"][rule]
    return list(zip(*(columns[name] for name in ("trial", "n", "bound", "gap", "left")), strict=True))


def gap(epsilon: float = 0.1, **options) -> RegretBoundCallback:
    return RegretBoundCallback(rule=OptimalityGap(epsilon=epsilon, **options, beta="grid"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "epsilon .* None"),
        ({"epsilon": 0}, "epsilon .* 0"),
        ({"epsilon": -1.0}, r"epsilon .* -1\.0"),
        ({"epsilon": math.nan}, "epsilon .* nan"),
        ({"epsilon": "small"}, "epsilon .* 'small'"),
        ({"epsilon": 0.1, "delta": 0.0}, r"delta .* 0\.0"),
        ({"epsilon": 0.1, "delta": 1.0}, r"delta .* 1\.0"),
        ({"epsilon": 0.1, "delta": math.nan}, "delta .* nan"),
        ({"rule": UCBbr}, "rule"),
        ({"rule": "UCBbr"}, "rule .* 'UCBbr'"),
        ({"epsilon": 0.1, "surrogate": GaussianProcess}, "surrogate must have guarantee, n_estimated and fit"),
    ],
)
def test_wrong_use_is_reported_at_construction(options, message):
    with pytest.raises(ValueError, match=message):
        RegretBoundCallback(**options)


def test_several_objectives_are_refused():
    study = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="2"):
        study.optimize(lambda t: (0, 0), n_trials=3, callbacks=[RegretBoundCallback(epsilon=1.0)])
    with pytest.raises(ValueError, match="2"):
        should_stop(study, epsilon=1.0)
    assert len(study.trials) == 1


def test_it_stops_the_study_and_says_so_once(log):
    study = new_study()
    study.optimize(parabola, n_trials=40, callbacks=[gap(1.0)])
    n = len(study.trials)
    assert n < 40
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.stop
    assert [(trial, seen) for trial, seen, *_ in stored(study, "OptimalityGap")] == [(k, k + 1) for k in range(n)]
    assert stored(study, "OptimalityGap")[-1][2:4] == 2 * (float(rounded_up(certificate.bound)),)
    (line,) = log.at(logging.INFO)
    assert f"trial {certificate.incumbent} " in line
    assert f"{rounded_up(certificate.bound)} < epsilon = 1 (delta = 0.05, guarantee: model)" in line
    assert f"after {n} evaluations" in line
    assert not log.at(logging.WARNING)


def test_a_heuristic_is_not_called_a_certificate(log):
    study = new_study()
    study.optimize(parabola, n_trials=40, callbacks=[RegretBoundCallback(rule=DeltaCB(1.0))])
    (line,) = log.at(logging.INFO)
    assert "guarantee: heuristic" in line
    assert "certifies" not in line


def test_the_default_rule_is_the_papers():
    study = new_study()
    study.optimize(parabola, n_trials=1, callbacks=[RegretBoundCallback(epsilon=0.5, delta=0.1)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert (certificate.rule, certificate.epsilon, certificate.delta) == ("UCBbr", 0.5, 0.1)
    assert certificate.reason.startswith("too few observations")


def test_a_rule_overrides_the_two_numbers():
    callback = RegretBoundCallback(epsilon=9.0, delta=0.5, rule=OptimalityGap(epsilon=0.2, beta="grid"))
    study = new_study()
    study.optimize(parabola, n_trials=1, callbacks=[callback])
    certificate = certificate_of(study)
    assert certificate is not None
    assert (certificate.rule, certificate.epsilon, certificate.delta) == (
        "OptimalityGap",
        0.2,
        0.05,
    )


@pytest.mark.parametrize("rule", [DeltaCB(0.5), DeltaES(0.5), AcquisitionThreshold(0.5)], ids=repr)
def test_any_rule_stops_a_study(rule, log):
    study = new_study()
    study.optimize(parabola, n_trials=40, callbacks=[RegretBoundCallback(rule=rule)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert len(study.trials) < 40
    assert certificate.stop
    assert (certificate.rule, certificate.guarantee) == (type(rule).__name__, "heuristic")
    assert certificate.measure == rule.measure
    assert stored(study, certificate.rule)[-1][:2] == (len(study.trials) - 1, len(study.trials))
    assert should_stop(study, rule=rule)
    (line,) = log.at(logging.INFO)
    assert f"{certificate.rule} estimates that the " in line


def test_the_message_appears_like_optunas_own(capfd):
    optuna.logging.set_verbosity(optuna.logging.INFO)
    handler = optuna.logging._default_handler
    assert handler is not None
    seen: list[str] = []

    class Seen(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            seen.append(record.name)
            return True

    with contextlib.ExitStack() as stack:
        watch = Seen()
        handler.addFilter(watch)
        stack.callback(handler.removeFilter, watch)
        study = new_study()
        study.optimize(table, n_trials=20, callbacks=[gap()])
        assert seen.count("regretstop_optuna") == 1
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        new_study().optimize(table, n_trials=20, callbacks=[gap()])
        assert seen.count("regretstop_optuna") == 1


@pytest.mark.parametrize(
    "sampler",
    [
        optuna.samplers.TPESampler(seed=0),
        optuna.samplers.RandomSampler(seed=0),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_it_works_with_other_samplers(sampler):
    study = optuna.create_study(sampler=sampler)
    study.optimize(parabola, n_trials=60, callbacks=[gap(1.0)])
    certificate = certificate_of(study)
    assert len(study.trials) < 60
    assert certificate is not None
    incumbent = study.trials[certificate.incumbent]
    assert incumbent.value == certificate.incumbent_value
    assert incumbent.value < 1.0


def test_a_declared_model_gives_a_theorem_with_any_sampler():
    kernel = Matern52(lengthscales=[0.5], outputscale=100.0)
    callback = RegretBoundCallback(
        rule=OptimalityGap(epsilon=1.0, beta="grid"),
        surrogate=GaussianProcess(kernel=kernel, noise_std=0.0, hyperparameters="fixed", mean=10.0),
    )
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(parabola, n_trials=60, callbacks=[callback])
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.stop
    assert certificate.guarantee == "theorem"


@pytest.mark.parametrize("of", ["callback", "sampler"])
def test_samples_of_the_hyperparameters_reach_the_certificate(of):
    options = {"surrogate": GaussianProcess(hyperparameters="posterior")}
    sampler = GPUCBSampler(seed=0, **options) if of == "sampler" else optuna.samplers.RandomSampler(seed=0)
    callback = RegretBoundCallback(
        rule=OptimalityGap(epsilon=1e-9, beta="grid"), **(options if of == "callback" else {})
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(parabola, n_trials=12, callbacks=[callback])
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.n_observations == 12
    assert (certificate.model.n_samples, certificate.model.sampling) == (8, "HMC")
    assert certificate.guarantee == "model"


def test_the_samplers_own_model_is_used():
    kernel = Matern52(lengthscales=[0.5], outputscale=100.0)
    sampler = GPUCBSampler(
        seed=0, surrogate=GaussianProcess(kernel=kernel, noise_std=0.0, hyperparameters="fixed", mean=10.0)
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(parabola, n_trials=30, callbacks=[gap(1.0)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.stop
    assert certificate.guarantee == "theorem"


def test_minimising_and_maximising_the_negative_give_mirrored_certificates():
    down, up = new_study("minimize"), new_study("maximize")
    down.optimize(parabola, n_trials=40, callbacks=[gap(1.0)])
    up.optimize(lambda t: -parabola(t), n_trials=40, callbacks=[gap(1.0)])
    one, two = certificate_of(down), certificate_of(up)
    assert one is not None
    assert two is not None
    assert [t.params for t in down.trials] == [t.params for t in up.trials]
    assert (one.bound, one.incumbent, one.terms) == (two.bound, two.incumbent, two.terms)
    assert one.incumbent_value == -(two.incumbent_value or 0.0)


def test_a_finite_space_is_certified_exactly():
    study = new_study()
    study.optimize(lambda t: [0.0, 3.0, 1.0, 2.0][t.suggest_int("k", 0, 3)], n_trials=30, callbacks=[gap()])
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.stop
    assert certificate.maximum == "enumerated"
    assert study.trials[certificate.incumbent].params == {"k": 0}


def test_the_decision_comes_from_completed_trials_only():
    """A trial that is running, or pruned, or failed, does not change what is certified."""
    study = new_study()
    study.optimize(parabola, n_trials=9)
    alone = study.sampler.models._entries[0][2]
    assert not should_stop(study, rule=OptimalityGap(epsilon=1e-9, beta="grid"))
    before = certificate_of(study)
    study.ask().suggest_float("x", -5, 5)
    pruned = study.ask()
    pruned.suggest_float("x", -5, 5)
    pruned.report(-100.0, 1)
    study.tell(pruned, state=TrialState.PRUNED)
    failed = study.ask()
    failed.suggest_float("x", -5, 5)
    study.tell(failed, state=TrialState.FAIL)
    assert not should_stop(study, rule=OptimalityGap(epsilon=1e-9, beta="grid"))
    after = certificate_of(study)
    assert before is not None
    assert after is not None
    assert alone is study.sampler.models._entries[0][2]
    assert (after.bound, after.incumbent, after.terms) == (
        before.bound,
        before.incumbent,
        before.terms,
    )
    assert (before.n_observations, before.n_excluded) == (9, 0)
    assert (after.n_observations, after.n_excluded) == (9, 2)


@pytest.mark.parametrize("outcome", [math.nan, math.inf, -math.inf, None, "raise", "prune", 1e200])
def test_strange_values_do_not_end_the_study(outcome, log):
    def objective(trial: optuna.Trial) -> float | None:
        value = parabola(trial)
        if trial.number % 3 != 1:
            return value
        if outcome == "raise":
            raise RuntimeError("diverged")
        if outcome == "prune":
            raise optuna.TrialPruned
        return outcome

    study = new_study()
    study.optimize(objective, n_trials=16, catch=RuntimeError, callbacks=[gap(1e-6)])
    assert len(study.trials) == 16
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.n_excluded == (0 if outcome == 1e200 else 5)
    assert not log.at(logging.WARNING)


def test_nothing_but_infinities_and_nothing_but_equal_values():
    for value, spread in ((math.inf, 0.0), (1.0, 0.0), (0.0, 1e-322)):
        study = new_study()
        study.optimize(
            lambda t, value=value, spread=spread: t.suggest_float("x", 0, 1) * spread + value,
            n_trials=8,
            callbacks=[RegretBoundCallback(epsilon=1.0)],
        )
        certificate = certificate_of(study)
        assert len(study.trials) == 8
        assert certificate is not None
        assert math.isinf(certificate.bound)


def test_where_a_number_decides_nothing_is_certified_and_one_warning_says_why(log):
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 2)
        return trial.suggest_float("only sometimes", 0, 1) if x > 1 else x

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=25, callbacks=[RegretBoundCallback(epsilon=10.0)])
    assert len(study.trials) == 25
    certificate = certificate_of(study)
    assert certificate is not None
    assert math.isinf(certificate.bound)
    assert certificate.reason == (
        "'only sometimes' is not in every trial with the same range, and no categorical parameter, or integer one with "
        "at most 20 values, tells in which"
    )
    (warning,) = log.at(logging.WARNING)
    assert certificate.reason in warning


def test_a_conditional_branch_that_is_always_pruned_is_seen():
    def objective(trial: optuna.Trial) -> float:
        k = trial.suggest_int("k", 0, 2)
        if k == 2:
            trial.suggest_float("only sometimes", 0, 1)
            raise optuna.TrialPruned
        return float(k)

    study = new_study()
    study.optimize(objective, n_trials=12, callbacks=[gap()])
    certificate = certificate_of(study)
    assert certificate is not None
    assert "'only sometimes'" in certificate.reason


def test_a_decision_falls_when_the_range_has_changed_since():
    study = new_study()
    study.optimize(parabola, n_trials=40, callbacks=[gap(1.0)])
    assert should_stop(study)
    n = len(study.trials)
    study.optimize(lambda t: t.suggest_float("x", -50, 50), n_trials=3, callbacks=[gap(1.0)])
    assert len(study.trials) == n + 3
    assert not should_stop(study)
    assert not should_stop(study, rule=OptimalityGap(epsilon=1.0, beta="grid"))


@pytest.mark.parametrize("objective", [lambda t: 1.0, lambda t: t.suggest_int("k", 1, 1)])
def test_no_parameters_at_all(objective, log):
    study = new_study()
    study.optimize(objective, n_trials=3, callbacks=[RegretBoundCallback(epsilon=1.0)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert "no parameter" in certificate.reason
    assert len(log.at(logging.WARNING)) == 1


def test_an_observation_outside_the_range_is_not_recommended():
    study = new_study()
    study.enqueue_trial({"x": 30.0})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(lambda t: -t.suggest_float("x", -5, 5), n_trials=1)
    study.optimize(lambda t: -t.suggest_float("x", -5, 5), n_trials=20, callbacks=[gap(1.0)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.stop
    assert study.trials[certificate.incumbent].params["x"] <= 5


def test_a_certified_study_runs_no_further_trial():
    study = new_study()
    rule = OptimalityGap(epsilon=1.0, beta="grid")
    study.optimize(parabola, n_trials=40, callbacks=[RegretBoundCallback(rule=rule)])
    n = len(study.trials)
    if not should_stop(study, rule=rule):
        study.optimize(parabola, n_trials=40, callbacks=[RegretBoundCallback(rule=rule)])
    assert len(study.trials) == n
    assert should_stop(study)


def test_without_asking_first_a_certified_study_runs_one(log):
    study = new_study()
    study.optimize(parabola, n_trials=40, callbacks=[gap(1.0)])
    n = len(study.trials)
    study.optimize(parabola, n_trials=40, callbacks=[gap(1.0)])
    assert len(study.trials) == n + 1
    assert "as decided before" in log.at(logging.INFO)[1]


class AnotherGap(OptimalityGap):
    """A rule of one's own."""


@pytest.mark.parametrize(
    ("rule", "counts"),
    [
        (OptimalityGap(epsilon=1.0, beta="grid"), True),
        (OptimalityGap(epsilon=5.0, delta=0.2, beta="grid"), True),
        (OptimalityGap(epsilon=1e-9, beta="grid"), False),
        (OptimalityGap(epsilon=1.0, delta=1e-9, beta="grid"), False),
        (OptimalityGap(epsilon=1.0, simultaneous=True, beta="grid"), False),
        (UCBbr(epsilon=1.0), False),
        (AnotherGap(epsilon=1.0), False),
    ],
)
def test_a_stored_decision_counts_only_if_it_satisfies_the_present_rule(rule, counts):
    study = new_study()
    study.optimize(parabola, n_trials=40, callbacks=[gap(1.0)])
    computed: list[int] = []

    class Counting(type(rule)):
        def assess(self, snapshot):
            computed.append(snapshot.data.n_observations)
            return super().assess(snapshot)

    Counting.__name__ = type(rule).__name__
    counting = Counting(**rule.__dict__)
    assert should_stop(study, rule=counting) or not counts
    assert bool(computed) == (not counts)


def test_a_decision_for_all_certificates_at_once_counts_for_one():
    study = new_study()
    shared = OptimalityGap(epsilon=1.0, simultaneous=True, beta="grid")
    study.optimize(parabola, n_trials=40, callbacks=[RegretBoundCallback(rule=shared)])
    assert should_stop(study, rule=shared)
    assert should_stop(study, rule=OptimalityGap(epsilon=1.0, beta="grid"))
    assert certificate_of(study).risk.simultaneous  # nothing was computed anew


def test_a_smaller_epsilon_goes_on():
    study = new_study()
    study.optimize(parabola, n_trials=60, callbacks=[gap(5.0)])
    first = certificate_of(study)
    n = len(study.trials)
    study.optimize(parabola, n_trials=60, callbacks=[gap(0.01)])
    second = certificate_of(study)
    assert first is not None
    assert second is not None
    assert n < len(study.trials) < n + 60
    assert first.bound >= 0.01 > second.bound


def test_ask_and_tell():
    study = new_study()
    assert not should_stop(study, rule=OptimalityGap(epsilon=0.1, beta="grid"))
    for _ in range(40):
        if should_stop(study, rule=OptimalityGap(epsilon=0.1, beta="grid")):
            break
        trial = study.ask()
        study.tell(trial, table(trial))
    assert len(study.trials) < 40
    assert should_stop(study)
    assert [trial for trial, *_ in stored(study, "OptimalityGap")] == list(range(len(study.trials)))
    reference = new_study()
    reference.optimize(table, n_trials=40, callbacks=[gap()])
    assert stored(study, "OptimalityGap") == stored(reference, "OptimalityGap")


def test_a_study_without_a_decision():
    study = new_study()
    assert certificate_of(study) is None
    assert not should_stop(study)
    with pytest.raises(ValueError, match=r"epsilon .* 0"):
        should_stop(study, epsilon=0)
    with pytest.raises(ValueError, match=r"delta .* 2"):
        should_stop(study, epsilon=1.0, delta=2)


def test_a_finished_study_can_be_assessed_afterwards():
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(parabola, n_trials=40)
    assert should_stop(study, rule=OptimalityGap(epsilon=1.0, beta="grid"))
    assert should_stop(study)


def test_the_same_data_give_the_same_certificate():
    study = new_study()
    study.optimize(bumps, n_trials=12, callbacks=[gap(1e-6)])
    with_history = certificate_of(study)
    fresh = optuna.create_study(sampler=GPUCBSampler(seed=0))
    fresh.add_trials(study.trials)
    should_stop(fresh, rule=OptimalityGap(epsilon=1e-6, beta="grid"))
    assert certificate_of(fresh) == with_history


def test_many_threads_reach_one_decision(log):
    study = new_study()

    def slow(trial: optuna.Trial) -> float:
        time.sleep(0.01)
        return parabola(trial)

    callbacks = [gap(1.0), RegretBoundCallback(epsilon=1.0)]
    study.optimize(slow, n_trials=80, n_jobs=4, callbacks=callbacks)
    assert len(study.trials) < 80
    decided = [line for line in log.at(logging.INFO) if line.startswith("The study stops: ")]
    assert 1 <= len(decided) <= 2  # one for each rule that got there
    assert len({line.split()[3] for line in decided}) == len(decided)
    after = [t for t in study.trials if t.state == TrialState.RUNNING]
    assert not after


def test_calls_from_several_threads_at_once(log):
    study = new_study()
    study.optimize(parabola, n_trials=12)
    callback = gap(1.0)
    together = threading.Barrier(6)
    errors: list[BaseException] = []

    def call() -> None:
        together.wait()
        try:
            callback(study, study.trials[-1])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert should_stop(study)
    assert len(log.at(logging.INFO)) == 1


def test_the_callback_pickles_with_its_study():
    callback = gap(1.0)
    study = new_study()
    study.optimize(parabola, n_trials=4, callbacks=[callback])
    study, callback = pickle.loads(pickle.dumps((study, callback)))
    study.optimize(parabola, n_trials=40, callbacks=[callback])
    assert should_stop(study)


def test_certificates_of_another_version_are_left_alone():
    study = new_study()
    study.optimize(parabola, n_trials=40, callbacks=[gap(1.0)])
    for key, value in study.user_attrs.items():
        for entry in (value, *value.values()):
            if isinstance(entry, dict) and "certificate" in entry:
                entry["certificate"]["version"] = 999
        study.set_user_attr(key, value)
    assert certificate_of(study) is None
    assert not should_stop(study)
    assert should_stop(study, rule=OptimalityGap(epsilon=1.0, beta="grid"))
