"""Where the optimum can still be."""

import math
from typing import Any

import numpy as np
import pytest

from regretstop import GPUCB, Categorical, Float, GaussianProcess, Int, Matern52, Space, UCBbr, minimize, replay
from regretstop.plotting import matplotlib as in_matplotlib
from regretstop.plotting import optimum_of, plot_optimum, plot_probability_left, plot_regret_bound
from regretstop.plotting._optimum import bars
from tests.histories import SPACES, random_history

MANY = Space(
    {
        "<b>lr</b>": Float(1e-5, 0.1, log=True),
        "$layers$": Int(1, 8),
        "act": Categorical(["relu", "<script>alert(1)</script>", None]),
        "wide": Int(1, 10**6, log=True),
    }
)


def known(x: list[float], y: list[float], **options: Any) -> GPUCB:
    """Return a search of a line whose model is declared, without noise."""
    kernel = Matern52(lengthscales=[0.2], outputscale=1.0)
    surrogate = GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.0, mean=0.0)
    optimizer = GPUCB(Space({"x": Float(0.0, 10.0)}), surrogate=surrogate, seed=0, **options)
    for at, value in zip(x, y, strict=True):
        optimizer.tell({"x": at}, value)
    return optimizer


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_line_in_the_units_of_the_objective(direction: Any) -> None:
    """A prior of mean 0 and deviation 1: far from the data the model is that, and at a datum it is the datum."""
    sign = 1.0 if direction == "maximize" else -1.0
    found = optimum_of(known([0.0, 0.5, 1.0, 1.5], [0.1, 0.9, 0.2, 0.1], direction=direction))
    assert found.mean is not None
    assert found.std is not None
    at = {round(float(x), 6): k for k, x in enumerate(found.axes[0].positions)}
    assert found.mean[at[0.5]] == pytest.approx(0.9)
    assert found.std[at[0.5]] == pytest.approx(0.0, abs=1e-6)
    # Over four lengthscales away, where values are correlated by less than 0.01.
    assert found.mean[at[10.0]] == pytest.approx(0.0, abs=0.03)
    assert found.std[at[10.0]] == pytest.approx(1.0, abs=0.01)
    assert found.is_whole
    assert found.incumbent_number == (1 if sign > 0 else 0) or found.values[found.incumbent_number] == 0.1


def test_maximisers_are_where_nothing_is_known() -> None:
    """Of a draw with deviation 1, of which the left half is known to be poor, the maximum is on the right."""
    found = optimum_of(known(list(np.linspace(0.0, 5.0, 21)), [-2.0] * 20 + [-1.9]), epsilon=0.5)
    assert len(found.gains) == len(found.maximisers) == 256
    assert np.all(found.gains >= 0.0)
    assert np.mean(found.maximisers[:, 0] > 5.0) == 1.0
    assert np.mean(found.is_open) > 0.95  # the largest of many values of deviation 1 is above −1.4
    edges, is_open, settled = bars(found, 0)
    assert math.fsum([*is_open, *settled]) == pytest.approx(1.0)
    assert math.fsum(is_open) == pytest.approx(np.mean(found.is_open))
    assert np.all(np.diff(edges) > 0.0)
    nothing = optimum_of(known(list(np.linspace(0.0, 5.0, 21)), [-2.0] * 20 + [-1.9]), epsilon=1e3)
    assert np.mean(nothing.is_open) == 0.0


def test_a_slice_passes_through_the_incumbent() -> None:
    optimizer = random_history(MANY, 24, seed=1).told()
    for params in (["act"], ["$layers$", "<b>lr</b>"]):
        found = optimum_of(optimizer, params=params, incumbent=7)
        assert [axis.name for axis in found.axes] == params
        assert found.incumbent_number == 7
        assert found.n_hidden == 4 - len(params)
        assert not found.is_whole
        place = optimizer.history[7].params
        own = [MANY[p].choices.index(place[p]) if p == "act" else place[p] for p in params]  # pyright: ignore
        assert list(found.incumbent) == pytest.approx(own)
        assert found.mean is not None
        assert found.mean.shape == tuple(len(axis.positions) for axis in found.axes)
    # Where the slice meets the trial it says what the model says of the trial.
    index = list(found.axes[0].positions).index(place["$layers$"])
    nearest = int(np.argmin(np.abs(np.log(found.axes[1].positions / place["<b>lr</b>"]))))
    model = optimizer.snapshot().model
    point = MANY.encode({**place, "<b>lr</b>": found.axes[1].positions[nearest]})
    mean, std = model.posteriors[0].mean_std(point[None])
    assert found.std is not None
    assert found.mean[index, nearest] == pytest.approx(model.offset + model.scale * mean[0])
    assert found.std[index, nearest] == pytest.approx(model.scale * std[0])


def test_bars_of_few_values_stand_on_them() -> None:
    found = optimum_of(random_history(MANY, 24, seed=1).told())
    by_name = {axis.name: axis for axis in found.axes}
    assert list(by_name["$layers$"].edges) == pytest.approx(list(np.arange(9) + 0.5))
    assert list(by_name["act"].edges) == [-0.5, 0.5, 1.5, 2.5]
    assert by_name["act"].choices == ("relu", "<script>alert(1)</script>", "None")
    assert len(by_name["wide"].edges) == len(by_name["<b>lr</b>"].edges) == 25


def test_of_many_parameters_the_most_open_are_shown() -> None:
    space = Space({f"p{j}": Float(0, 1) for j in range(15)})
    optimizer = random_history(space, 24, seed=0).told()
    found = optimum_of(optimizer)
    assert len(found.axes) == 12
    assert found.n_hidden == 3
    assert [int(axis.name[1:]) for axis in found.axes] == sorted(int(axis.name[1:]) for axis in found.axes)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("space", [*SPACES, "many"])
def test_both_backends_draw_every_kind_of_space(space: str, theme: Any) -> None:
    optimizer = random_history(MANY if space == "many" else SPACES[space], 14, seed=2).told()
    in_matplotlib.plot_optimum(optimizer, theme=theme).canvas.draw()
    assert plot_optimum(optimizer, theme=theme).to_json()
    names = list(optimizer.space)[:2]
    in_matplotlib.plot_optimum(optimizer, params=names, theme=theme).canvas.draw()
    assert plot_optimum(optimizer, params=names, theme=theme).to_json()


def test_names_stay_text() -> None:
    """plotly takes <b> for markup, and matplotlib what stands between dollars for mathematics."""
    optimizer = random_history(MANY, 24, seed=1).told()
    layout = plot_optimum(optimizer).layout
    assert layout.xaxis.title.text == "&lt;b&gt;lr&lt;/b&gt;"
    assert layout.xaxis3.ticktext[1].startswith("&lt;script&gt;")
    figure = in_matplotlib.plot_optimum(optimizer)
    assert [ax.get_xlabel() for ax in figure.axes[:4]] == ["<b>lr</b>", r"\$layers\$", "act", "wide"]


def test_of_a_result_and_of_a_replay() -> None:
    space = SPACES["a line"]
    result = minimize(lambda p: (p["x"] - 0.3) ** 2, space, rule=UCBbr(0.01), max_trials=12, seed=0)
    again = replay(result.history, space, rule=UCBbr(0.01), direction="minimize")
    for plot in (plot_regret_bound, plot_probability_left):
        assert plot(result).to_json() == plot(again).to_json()
    assert [float(y) for y in plot_probability_left(result).data[0].y if math.isfinite(y)] == [
        c.left.probability for c in result.certificates if c.left is not None
    ]
    lines = in_matplotlib.plot_regret_bound(result, theme="dark").get_lines()
    assert f"stopped at trial {len(result.history) - 1}" in [line.get_label() for line in lines]


def test_wrong_use_is_named() -> None:
    optimizer = random_history(MANY, 24, seed=1).told()
    for params in (["nothing"], [], ["act", "act"], ["act", "wide", "$layers$"]):
        with pytest.raises(ValueError, match="params must be one or two of '<b>lr</b>'"):
            optimum_of(optimizer, params=params)
    with pytest.raises(ValueError, match="epsilon must be a positive number"):
        optimum_of(optimizer, epsilon=0.0)
    with pytest.raises(ValueError, match="not known: too few observations"):
        optimum_of(GPUCB(MANY))
    with pytest.raises(ValueError, match="no certificate says how probable"):
        plot_probability_left(minimize(lambda p: 0.0, MANY, rule=UCBbr(0.1), max_trials=2, seed=0))
