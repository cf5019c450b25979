"""The cases by which Optuna tests its own samplers."""

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from regretstop_optuna import GPUCBSampler

cases = pytest.importorskip("optuna.testing.pytest_samplers", reason="Optuna has published its cases since 4.6")


class TestGPUCBSampler(cases.BasicSamplerTestCase, cases.RelativeSamplerTestCase, cases.SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: GPUCBSampler(n_startup_trials=1, seed=0)
