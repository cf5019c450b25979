"""What the searcher and the stopper do for each trial, counted: trials need not wait for them."""

import pytest
from regretstop_ray import RegretBoundStopper

from regretstop import OptimalityGap
from regretstop.model import GaussianProcess, Matern52
from tests.integrations.ray.objectives import value
from tests.integrations.ray.test_ray_search import result, searcher


class Counting(GaussianProcess):
    """The native surrogate, which counts its fits."""

    def __init__(self) -> None:
        super().__init__(kernel=Matern52(), noise_std="learned", hyperparameters="map", mean=0.0)
        self.fits = 0

    def fit(self, *args, **options):
        self.fits += 1
        return super().fit(*args, **options)


class CountingRule(OptimalityGap):
    """A rule that counts its assessments."""

    assessed: list[int]

    def assess(self, snapshot):
        self.assessed.append(snapshot.data.n_observations)
        return super().assess(snapshot)


@pytest.mark.parametrize("live", [1, 4, 16])
def test_one_fit_and_one_assessment_for_each_trial_that_ends_however_many_run(live):
    """Tune asks for a suggestion whenever a place is free, and polls `stop_all` hundreds of times for each trial."""
    surrogate, rule = Counting(), CountingRule(1e-9)
    object.__setattr__(rule, "assessed", [])
    search = searcher(surrogate=surrogate)
    stopper = RegretBoundStopper(search, rule=rule)
    running = {f"first {i}": search.suggest(f"first {i}") for i in range(live)}
    assert surrogate.fits == 0
    for n in range(24):
        ended = next(iter(running))
        config = running.pop(ended)
        stopper(ended, {**result(config, value(config)), "done": True})
        search.on_trial_result(ended, result(config, value(config)))
        search.on_trial_complete(ended, result(config, value(config)))
        for _ in range(50):
            assert not stopper.stop_all()
        running[str(n)] = search.suggest(str(n))
        for _ in range(50):
            assert not stopper.stop_all()
    assert surrogate.fits <= 24
    assert len(rule.assessed) <= 24
    # A place that is free is filled at once, from what is known: no result is waited for.
    assert len(running) == len(search.log.pending()) == live
