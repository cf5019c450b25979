"""What the tests tune: f = (x − 0.3)² + 0.1 k over x in [0, 1] and k in 0 … 3, with its minimum 0 at (0.3, 0)."""

import os
import time
from pathlib import Path
from typing import Any

from ray import tune

from tests.integrations.ray.forms import get_context, report

EPSILON = 0.02


def space() -> dict[str, Any]:
    return {"x": tune.uniform(0, 1), "model": {"k": tune.randint(0, 4), "width": 64}}


def value(config: dict[str, Any]) -> float:
    return (config["x"] - 0.3) ** 2 + 0.1 * config["model"]["k"]


def one_report(config: dict[str, Any]) -> None:
    report({"loss": value(config)})


def slow_report(config: dict[str, Any]) -> None:
    time.sleep(0.3)
    report({"loss": value(config)})


def four_reports(config: dict[str, Any]) -> None:
    """Reports f only at its end; before, it is off by up to 1."""
    for step in range(1, 5):
        report({"loss": value(config) + 1 / step - 1 / 4})


def deceptive(config: dict[str, Any]) -> None:
    """Shows a value far below the minimum of f before it has come to its end, like an early report of a loss."""
    report({"loss": value(config) - 10})
    time.sleep(0.2)
    report({"loss": value(config)})


def often_wrong(config: dict[str, Any]) -> None:
    """Fails where x > 0.8, and reports no number between 0.6 and 0.8."""
    if config["x"] > 0.8:
        raise RuntimeError("out of memory")
    report({"loss": float("nan") if config["x"] > 0.6 else value(config)})


def takes_apart(config: dict[str, Any]) -> None:
    """Takes its parameters out of the configuration, and fails where x > 0.7."""
    x = config.pop("x")
    if x > 0.7:
        raise RuntimeError("out of memory")
    report({"loss": (x - 0.3) ** 2 + config.pop("net").bias})


class Stepper(tune.Trainable):
    """A class trainable that says itself when it is done."""

    def setup(self, config: dict[str, Any]) -> None:
        self.steps = 0

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Let the next trial have this actor."""
        self.steps = 0
        return True

    def step(self) -> dict[str, Any]:
        self.steps += 1
        return {"loss": value(self.config) + 1 - self.steps / 3, "done": self.steps == 3}

    def save_checkpoint(self, checkpoint_dir: str) -> dict[str, int]:
        return {"steps": self.steps}


def fails_once(config: dict[str, Any]) -> None:
    """Fails until the file named in the configuration exists."""
    if not os.path.exists(config["flag"]):
        raise RuntimeError("the disk is full")
    report({"loss": value(config)})


def needs_company(config: dict[str, Any]) -> None:
    """Ends once another trial has begun as well; a quarter of an hour later, on however slow a machine, none will."""
    begun = Path(config["meeting"])
    (begun / get_context().get_trial_id()).touch()
    met = any(len(list(begun.iterdir())) >= 2 or time.sleep(0.1) for _ in range(9000))
    report({"loss": value(config), "met": met})
