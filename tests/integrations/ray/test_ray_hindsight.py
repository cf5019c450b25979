"""An experiment that is over, replayed: from what ran it, from its results, and from its directory."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

from ray import tune
from regretstop_ray import GPUCBSearch, RegretBoundStopper, certificate_of, replay

from regretstop import UCBbr
from regretstop.plotting import plot_optimum
from tests.integrations.ray.forms import RunConfig, report

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.usefixtures("cluster")]
SPACE = {"x": tune.uniform(-2.0, 2.0), "deep": {"k": tune.randint(0, 4)}, "constant": 3}
RULE = UCBbr(epsilon=0.05)


def train(config: dict[str, Any]) -> None:
    for step in range(2 if config["x"] < 1.5 else 1):
        report({"loss": (config["x"] - 0.7) ** 2 + 0.01 * config["deep"]["k"] + (1 - step)})


def experiment(path: Path, n: int, search: Any = None, stop: Any = None) -> Any:
    tuner = tune.Tuner(
        train,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=search, num_samples=n, max_concurrent_trials=1, reuse_actors=True
        ),
        run_config=RunConfig(stop=stop, verbose=0, storage_path=str(path), name="searched"),
    )
    return tuner.fit()


def test_with_our_searcher_everything_is_known(tmp_path: Path) -> None:
    search = GPUCBSearch(seed=3)
    results = experiment(tmp_path, 20, search, RegretBoundStopper(search, rule=RULE))
    decided = certificate_of(results)
    assert decided is not None
    found = {type(source): replay(source, RULE) for source in (search, results, results.experiment_path)}
    for each in found.values():
        assert each.certificates[-1].to_dict() == {
            name: value for name, value in decided.to_dict().items() if name not in ("trial_id", "config")
        }
        assert each.stop == (len(each.observations) if decided.stop else None)
    assert found[GPUCBSearch].seconds == ()
    took = [result.metrics["time_total_s"] for result in results]
    assert sorted(found[str].seconds) == pytest.approx(sorted(took))
    assert plot_optimum(found[str], params=["x"]).to_json()


def test_with_another_one_the_space_is_given(tmp_path: Path) -> None:
    results = experiment(tmp_path, 12)
    found = replay(results, RULE, space=SPACE)
    again = replay(results.experiment_path, RULE, space=SPACE, metric="loss", mode="min")
    assert found.certificates == again.certificates
    assert list(found.optimizer.space) == ["x", "deep/k"]
    # A trial of one report less was cut short, as far as its results tell.
    lengths = [result.metrics["training_iteration"] for result in results]
    assert [o.value is None for o in sorted(found.observations, key=lambda o: o.number)] == [n < 2 for n in lengths]
    for message, options in {
        "space must be given for an experiment without a GPUCBSearch": {},
        "metric and mode must be given": {"space": SPACE, "metric": "loss"},
    }.items():
        source = results if "space" not in options else results.experiment_path
        with pytest.raises(ValueError, match=message):
            replay(source, RULE, **options)
    with pytest.raises(ValueError, match="ended with a finite 'nothing'"):
        replay(results, RULE, space=SPACE, metric="nothing", mode="min")


def test_the_command_reads_its_directory(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    from regretstop_cli._sources import open_search

    from regretstop import Every

    results = experiment(tmp_path, 12)
    ranges = ["x=-2:2", "deep/k=0:3"]
    search = open_search(results.experiment_path, None, value="loss", direction="minimize", ranges=ranges)
    expected = replay(results, RULE, space=SPACE)
    assert search.replay(RULE, Every(), lambda n: None).certificates == expected.certificates
    assert search.objective == "loss"
    guessed = open_search(results.experiment_path, None, value="loss", direction="minimize", ranges=[])
    assert any("the ranges of x, deep/k are not known" in note for note in guessed.notes)
