"""The rule that the documents show as an example."""

import pytest

from examples.own_rule import TwoDeviations
from regretstop import GPUCB, GaussianProcess, Int, Matern52, Space


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_two_deviations_by_hand(direction: str) -> None:
    """Two points that tell nothing of each other: three values at one, none at the other."""
    kernel = Matern52(lengthscales=[1e-3], outputscale=4.0)
    model = GPUCB(
        Space({"x": Int(0, 1)}),
        direction=direction,
        surrogate=GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.3),
    )
    sign = 1 if direction == "maximize" else -1
    for value in (1.0, 1.3, 0.7):
        model.tell({"x": 0}, sign * value)
    certificate = model.certificate(TwoDeviations(epsilon=0.1))
    mean = 4.0 / (4.0 + 0.3**2 / 3)  # of the first; the second has mean 0 and deviation 2
    assert certificate.bound == pytest.approx(2.0 * 2.0 - mean, rel=1e-9)
    assert (certificate.stop, certificate.guarantee) == (False, "heuristic")
    assert certificate.incumbent_value == sign * 1.0
