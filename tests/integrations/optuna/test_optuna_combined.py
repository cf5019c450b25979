"""Rules in combination on real studies: what is stored of them, and who is bound by it."""

import datetime
import logging
import math

import optuna
import pytest
from optuna.trial import TrialState, create_trial
from regretstop_optuna import GPUCBSampler, RegretBoundCallback, certificate_of, plot_regret_bound, replay, should_stop
from regretstop_optuna.plot import bound_history

from regretstop import PRB, AcquisitionThreshold, CostAware, Deadline, OptimalityGap, Patience, Target, UCBbr
from tests.integrations.optuna.objectives import parabola

X = {"x": optuna.distributions.FloatDistribution(-5.0, 5.0)}


def new_study(**options) -> optuna.Study:
    return optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), **options)


def finished(value, start: float, seconds: float, state=TrialState.COMPLETE, number: int = 0):
    """A trial as a storage gives it back, that ran at this time."""
    trial = create_trial(params={"x": 0.1 * number}, distributions=X, value=value, state=state)
    day = datetime.datetime(2026, 3, 1, 12)
    trial.datetime_start = day + datetime.timedelta(seconds=start)
    trial.datetime_complete = trial.datetime_start + datetime.timedelta(seconds=seconds)
    return trial


@pytest.mark.parametrize("storage", [None, "sqlite"])
def test_a_combination_stops_a_study_and_its_decision_is_found_again(storage, tmp_path, log):
    url = None if storage is None else f"sqlite:///{tmp_path}/study.db"
    study = new_study(storage=url, study_name="one")
    rule = UCBbr(1e-9) | Patience(6) | Target(-1.0)
    study.optimize(parabola, n_trials=60, callbacks=[RegretBoundCallback(rule=rule)])
    n = len(study.trials)
    best = study.best_trial.number
    assert n == best + 7 < 60
    if url is not None:
        study = optuna.load_study(study_name="one", storage=url)
    certificate = certificate_of(study)
    assert certificate is not None
    assert (certificate.rule, certificate.asker, certificate.incumbent) == (
        "Patience",
        "UCBbr | Patience | Target",
        best,
    )
    assert [each.rule for each in certificate.said] == ["UCBbr", "Patience", "Target"]
    assert (
        f"Patience of UCBbr | Patience | Target: the last 6 evaluations brought nothing better than trial {best}"
        in (log.at(logging.INFO)[0])
    )
    # Whoever asks for the same, alone or among others, is answered; nobody else.
    for asks in (rule, Patience(6), Patience(6) | Target(-1.0)):
        assert should_stop(study, rule=asks)
    for asks in (Patience(60), Patience(6) & Target(-1.0), UCBbr(1e-9) | Target(-1.0)):
        assert not should_stop(study, rule=asks)
    study.optimize(parabola, n_trials=5, callbacks=[RegretBoundCallback(rule=rule)])
    assert len(study.trials) == n + 1


def test_a_bound_in_a_combination_answers_for_itself():
    study = new_study()
    study.optimize(parabola, n_trials=40, callbacks=[RegretBoundCallback(rule=OptimalityGap(5.0) | Patience(39))])
    certificate = certificate_of(study)
    assert certificate is not None
    assert (certificate.rule, certificate.guarantee, certificate.delta) == ("OptimalityGap", "model", 0.05)
    assert should_stop(study, rule=OptimalityGap(5.0))
    # Of two that claim, each would have had half of δ, and has to be asked again.
    from regretstop_optuna._attributes import stored_decisions

    attributes = study.user_attrs
    assert stored_decisions(attributes, OptimalityGap(5.0) | Patience(39))
    assert (
        stored_decisions(
            attributes,
            OptimalityGap(6.0) | UCBbr(1e-9, delta=0.2),
        )
        == []
    )
    assert stored_decisions(attributes, OptimalityGap(6.0, delta=0.1) | UCBbr(1e-9, delta=0.2))


def test_both_have_to_speak():
    study = new_study()
    rule = OptimalityGap(5.0) & Patience(3)
    study.optimize(parabola, n_trials=60, callbacks=[RegretBoundCallback(rule=rule)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert (certificate.stop, certificate.rule, certificate.guarantee) == (True, "OptimalityGap", "model")
    assert all(each.stop for each in certificate.said)
    assert should_stop(study, rule=rule)
    assert should_stop(study, rule=Patience(3))  # which spoke, too


@pytest.mark.parametrize("rule", [UCBbr(0.5) | Patience(4), Patience(4), UCBbr(0.5) | Target(-99.0) | Deadline(1e-9)])
def test_what_needs_no_model_stops_a_study_that_has_none(rule, log):
    """A number decides what else there is: no bound is computed, and one warning says so to whoever asked for one."""
    study = new_study()

    def branches(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        return x + (trial.suggest_float("y", 0.0, 1.0) if x < 0.5 else 1.0)

    study.optimize(branches, n_trials=60, callbacks=[RegretBoundCallback(rule=rule)])
    certificate = certificate_of(study)
    assert certificate is not None
    assert certificate.stop
    assert certificate.guarantee == "none"
    assert len(study.trials) < 60
    assert len(log.at(logging.WARNING)) <= rule.claims
    assert should_stop(study, rule=rule)


def test_the_clock_is_optunas_and_goes_on_where_it_stood():
    study = new_study()
    for k in range(3):
        study.add_trial(finished(1.0 - k, 20.0 * k, 10.0, number=k))
    study.add_trial(finished(None, 60.0, 4.0, TrialState.FAIL, number=3))
    # 3 · 10 s of trials, two waits of 10 s, one more of 10 s, 4 s that failed
    certificate = certificate_of(study, Deadline(100.0))
    assert certificate is not None
    assert certificate.terms["taken"] == 64.0
    assert not certificate.stop
    study.add_trial(finished(0.5, 86_400.0, 5.0, number=4))
    certificate = certificate_of(study, Deadline(100.0))
    assert certificate is not None
    assert certificate.terms["taken"] == 64.0 + 60.0 + 5.0
    assert certificate.stop
    assert should_stop(study, rule=UCBbr(1e-9) | Deadline(100.0))


@pytest.mark.parametrize("longest", [0.0, 30.0])
def test_the_night_after_a_process_died_does_not_count(longest):
    """Optuna ends a trial whose heartbeat stopped when the next process begins."""
    study = new_study()
    if longest:
        study.add_trial(finished(1.0, -longest, longest))
    study.add_trial(finished(None, 0.0, 8 * 3600.0, TrialState.FAIL))
    study.add_trial(finished(1.0, 8 * 3600.0 + 5.0, 1.0))
    taken = certificate_of(study, Deadline(3600.0)).terms["taken"]
    assert taken == longest + 10.0 * max(longest, 1.0) + 600.0 + 60.0 + 1.0
    # The time of one that failed by itself, or ran long and was completed, is what it says.
    study.add_trial(finished(None, 9 * 3600.0, 100.0, TrialState.FAIL))
    study.add_trial(finished(1.0, 9 * 3600.0 + 100.0, 7000.0))
    assert certificate_of(study, Deadline(3600.0)).terms["taken"] >= 7100.0


def twice(params) -> float:
    return 2.0 + 0.0 * params["x"]


def test_the_cost_of_a_trial_is_how_long_it_ran():
    study = new_study(direction="maximize")
    for k in range(12):
        study.add_trial(finished(math.sin(0.3 * k), 100.0 * k, 8.0, number=k))
    certificate, threshold = (certificate_of(study, rule) for rule in (CostAware(1e-3), AcquisitionThreshold()))
    assert certificate is not None
    assert threshold is not None
    assert certificate.bound == pytest.approx(threshold.bound / 8.0, rel=1e-6)
    # A function is known by its name, wherever the study goes on.
    priced = CostAware(1e3, cost=twice)
    assert should_stop(study, rule=priced)
    (decision,) = (value for key, value in study.user_attrs.items() if key.startswith("regretstop:decision"))
    assert decision["settings"]["cost"] == f"{__name__}.twice"


def test_a_pruned_trial_counts_for_patience_and_a_failed_one_does_not():
    study = new_study()
    for k, state in enumerate([TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.COMPLETE]):
        study.add_trial(finished(1.0 if state == TrialState.COMPLETE else None, 20.0 * k, 1.0, state, number=k))
    certificate = certificate_of(study, Patience(3))
    assert certificate is not None
    assert certificate.terms["since_best"] == 2


def test_the_sampler_looks_for_the_smallest_epsilon_that_is_asked_for():
    points = []
    for rule in (UCBbr(0.01) | PRB(0.5) | Patience(99), UCBbr(0.01)):
        study = optuna.create_study(sampler=GPUCBSampler(seed=3))
        study.optimize(parabola, n_trials=6, callbacks=[RegretBoundCallback(rule=rule)])
        points.append([trial.params for trial in study.trials])
    assert points[0] == points[1]


def test_a_picture_shows_the_bound_that_there_is():
    study = new_study()
    study.optimize(parabola, n_trials=60, callbacks=[RegretBoundCallback(rule=UCBbr(1e-9) | Patience(6))])
    history = bound_history(study)
    assert (history.rule, history.epsilon) == ("UCBbr", 1e-9)
    assert history.stopped_at == study.trials[-1].number
    assert math.isfinite(history.bounds[-1])
    plot_regret_bound(study)
    alone = new_study()
    alone.optimize(parabola, n_trials=60, callbacks=[RegretBoundCallback(rule=Patience(6))])
    assert bound_history(alone).stopped_at == alone.trials[-1].number
    plot_regret_bound(alone)


def test_a_study_is_replayed_by_a_combination():
    study = new_study()
    study.optimize(parabola, n_trials=20)
    found = replay(study, UCBbr(1e-9) | Patience(5))
    values = [trial.value for trial in study.trials]
    assert found.stop == next(n for n in range(1, 21) if n - 1 - min(range(n), key=lambda i: values[i]) >= 5)
