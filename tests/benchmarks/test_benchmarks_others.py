"""The benchmark of the default rule beside other samplers."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import others
from benchmarks.records import append
from benchmarks.sections import others as section


@pytest.mark.parametrize("name", ["bowl-3", "bowl-5"])
def test_the_optimum_and_the_range_of_a_bowl(name: str) -> None:
    problem = others.problem_of(name)
    corners = np.array(np.meshgrid(*[np.linspace(0.0, 1.0, 11)] * problem.space.dim)).reshape(problem.space.dim, -1).T
    values = np.array([problem.objective(dict(zip(problem.space, x, strict=True))) for x in corners])
    assert values.min() == pytest.approx(problem.optimum, abs=0.01)
    assert problem.epsilons == pytest.approx((0.01 * np.ptp(values), 0.05 * np.ptp(values)), rel=0.02)


@pytest.mark.parametrize("points", others.SAMPLERS)
def test_a_search_comes_out_the_same_again_and_has_a_section(points: str, tmp_path: Path) -> None:
    key = {"problem": "bowl-3", "points": points, "seed": 0, "trials": 12}
    record, again = (others.run_search(key) for _ in range(2))
    assert {**record, "cpu_s": 0} == {**again, "cpu_s": 0}
    assert section.section(tmp_path) is None
    for stops, regrets in (([30, 20], [0.01, 0.3]), ([None, 10], [None, 0.0])):
        append(tmp_path / others.PATH.name, record | {"stops": stops, "regrets": regrets})
    cells = section.counted(section.stopped(list(section.read(tmp_path / others.PATH.name))))
    assert cells["stopped"].tolist() == [1, 2]
    assert cells["false"].tolist() == [0, 1]  # ε is 0.0216 and 0.108
