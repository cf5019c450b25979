"""Draws the pictures of gallery.md, light and dark, into docs/images/gallery: `python docs/gallery.py`."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from regretstop import GPUCB, Categorical, Float, GaussianProcess, Int, OptimalityGap, Result, Space, UCBbr, minimize
from regretstop.plotting import Theme
from regretstop.plotting.matplotlib import plot_bound_parts, plot_optimum, plot_probability_left, plot_regret_bound

FOLDER = Path(__file__).parent / "images" / "gallery"
# In dots per inch: as wide as the text of the page.
RESOLUTION = 80
TUNING = Space(
    {
        "lr": Float(1e-5, 1e-1, log=True),
        "layers": Int(1, 8),
        "dropout": Float(0.0, 0.5),
        "activation": Categorical(["relu", "gelu", "tanh"]),
    }
)


def loss(params: Mapping[str, Any]) -> float:
    """Return a loss that is smallest, 0.05, at lr = 10⁻²·⁵, 4 layers, a dropout of 0.2 and gelu."""
    lost = 0.02 * (math.log10(params["lr"]) + 2.5) ** 2 + 0.004 * (params["layers"] - 4) ** 2
    lost += 0.2 * (params["dropout"] - 0.2) ** 2
    return 0.05 + lost + {"relu": 0.01, "gelu": 0.0, "tanh": 0.03}[params["activation"]]


def branin(params: Mapping[str, Any]) -> float:
    """Return Branin's function, in which the two ways to bound what is left differ."""
    x, y = params["x"], params["y"]
    bowl = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def searched(f: Callable[[Mapping[str, Any]], float], space: Space, epsilon: float, n: int) -> Result:
    """Return a search that is stopped by its bound, or after n evaluations."""
    return minimize(f, space, rule=UCBbr(epsilon), max_trials=n, seed=0)


def begun(n: int) -> GPUCB:
    """Return a search of the tuning job after n evaluations."""
    optimizer = GPUCB(TUNING, direction="minimize", seed=0)
    for _ in range(n):
        params = optimizer.ask(epsilon=0.01)
        optimizer.tell(params, loss(params))
    return optimizer


def main() -> None:
    """Draw everything."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    tuned = searched(loss, TUNING, 0.002, 60)
    rule = OptimalityGap(0.002, beta=4.0)
    parted = minimize(loss, TUNING, rule=rule, max_trials=40, seed=0, surrogate=GaussianProcess(noise_std=1e-4))
    line = searched(lambda p: math.sin(3.0 * p["x"]) + 0.3 * p["x"], Space({"x": Float(-2.0, 3.0)}), 0.02, 7)
    square = Space({"lr": Float(1e-4, 1.0, log=True), "momentum": Float(0.0, 1.0)})
    plane = searched(lambda p: (math.log10(p["lr"]) + 2.0) ** 2 * 0.1 + (p["momentum"] - 0.6) ** 2, square, 0.005, 11)
    doubted = searched(branin, Space({"x": Float(-5.0, 10.0), "y": Float(0.0, 15.0)}), 3.0, 60)
    early = begun(12)
    pictures: dict[str, Callable[[Theme], Any]] = {
        "regret_bound": lambda theme: plot_regret_bound(tuned, theme=theme).figure,
        "probability_left": lambda theme: plot_probability_left(tuned, theme=theme).figure,
        "counted_parts": lambda theme: plot_bound_parts(doubted, theme=theme).figure,
        "bound_parts": lambda theme: plot_bound_parts(parted, theme=theme).figure,
        "optimum_line": lambda theme: plot_optimum(line, theme=theme),
        "optimum_map": lambda theme: plot_optimum(plane, theme=theme),
        "optimum_marginals": lambda theme: plot_optimum(early, epsilon=0.01, theme=theme),
        "optimum_slice": lambda theme: plot_optimum(early, params=["activation"], epsilon=0.01, theme=theme),
    }
    for name, draw in pictures.items():
        for theme in get_args(Theme):
            metadata = {"Software": None}  # or a new matplotlib alone would change every file
            draw(theme).savefig(FOLDER / f"{name}_{theme}.png", dpi=RESOLUTION, metadata=metadata)


if __name__ == "__main__":
    main()
