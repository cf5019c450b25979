"""The benchmark of constraints."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import constrained
from benchmarks.records import append
from benchmarks.sections import constrained as section


@pytest.mark.parametrize(("name", "known"), [("Branin in a disk", 0.397887), ("Gramacy", 0.5998)])
def test_the_feasible_optimum_is_that_of_the_literature(name: str, known: float) -> None:
    assert constrained.optimum(name) == pytest.approx(known, abs=1e-4)


def test_at_the_other_the_constraint_is_active() -> None:
    """Forbidden points are better than the best at the edge."""
    x, y = np.meshgrid(np.linspace(0.0, 6.0, 2001), np.linspace(0.0, 6.0, 2001))
    problem = constrained.PROBLEMS["Gardner"]
    values, violation = problem.objective(x, y), problem.constraints[0](x, y)
    best = np.where(violation <= 0.0, values, np.inf)
    assert constrained.optimum("Gardner") == pytest.approx(best.min(), abs=5e-3)
    assert violation[np.unravel_index(np.argmin(best), best.shape)] > -5e-3
    assert values.min() < best.min() - 0.1


@pytest.mark.parametrize("points", ["our sampler", "TPE"])
def test_a_search_comes_out_the_same_again_and_has_a_section(points: str, tmp_path: Path) -> None:
    key = {"problem": "Gramacy", "points": points, "told": constrained.VALUES, "seed": 0}
    record, again = (constrained.run_search(key, trials=9) for _ in range(2))
    assert {**record, "cpu_s": 0} == {**again, "cpu_s": 0}
    assert record["n"] == 9
    assert section.section(tmp_path) is None
    for told, stop, regret in ((constrained.VALUES, 30, 0.01), (constrained.FLAGS, 40, 0.03)):
        append(tmp_path / constrained.PATH.name, record | {"told": told, "stop": stop, "regret": regret})
    cells = section.counted(section.stopped(list(section.read(tmp_path / constrained.PATH.name))))
    assert cells["stopped"].tolist() == [1, 1]
    assert cells["false"].tolist() == [0, 1]  # ε is 0.02
