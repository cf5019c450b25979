"""The user's torch stays as it was, and the surrogate works whatever the user did to it."""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from gpytorch.kernels import RQKernel, ScaleKernel
from regretstop_gpytorch import GPyTorchSurrogate

from regretstop import GPUCB, Float, OptimalityGap, Space, UCBbr
from tests.draws import data_for
from tests.integrations.gpytorch.cases import SPACES, ExactGP

SQUARE = SPACES["numeric"]


def built(x: Any, y: Any) -> ExactGP:
    torch.rand(3)  # a model that starts at random
    return ExactGP(x, y, ScaleKernel(RQKernel()))


MODELS: dict[str, Any] = {"default": lambda: None, "kernel": lambda: ScaleKernel(RQKernel()), "function": lambda: built}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    """A model that was made while torch was as usual."""
    return MODELS[request.param]()


@pytest.fixture
def restored() -> Iterator[None]:
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    yield
    torch.set_default_dtype(dtype)
    torch.set_default_device(None)
    torch.set_num_threads(threads)


def numbers(model: Any) -> list[float]:
    """Use all that there is: the check, the fit, the posterior, its gradient and a conditioned one."""
    surrogate = GPyTorchSurrogate(model, device="cpu")
    points, values = data_for(SQUARE, 12, n_repeats=2)
    n_estimated = surrogate.n_estimated(SQUARE)
    posterior = surrogate.fit(points, values, categories=SQUARE, sign=1.0).posteriors[0]
    conditioned = posterior.condition_on(points[:3] + 0.05)
    parts = [*posterior.mean_std_gradient(points[:4] + 0.01), *conditioned.mean_std(points)]
    return [n_estimated, posterior.noise_std, *np.concatenate([np.ravel(part) for part in parts])]


def state() -> dict[str, Any]:
    return {
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "gradients": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "matmul": torch.get_float32_matmul_precision(),
        "random": (torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()),  # noqa: NPY002
    }


SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "as usual": (lambda: None, nullcontext),
    "float16": (lambda: torch.set_default_dtype(torch.float16), nullcontext),
    "float64": (lambda: torch.set_default_dtype(torch.float64), nullcontext),
    "meta": (lambda: torch.set_default_device("meta"), nullcontext),
    "two threads": (lambda: torch.set_num_threads(2), nullcontext),
    "no_grad": (lambda: None, torch.no_grad),
    "inference_mode": (lambda: None, torch.inference_mode),
}


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("setting", SETTINGS)
def test_it_works_and_leaves_everything_as_it_was(setting: str, model: Any) -> None:
    expected = numbers(model)
    prepare, context = SETTINGS[setting]
    prepare()
    with context():
        before = state()
        found = numbers(model)
        assert state() == before
    # A function's own modules are born with the default dtype, and begin as it rounds them.
    assert found == pytest.approx(expected, rel=0.02 if setting in ("float16", "float64") else 1e-9, abs=1e-3)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_kernel_that_was_made_inside_the_mode(mode: Any) -> None:
    expected = numbers(ScaleKernel(RQKernel()))
    with mode():
        kernel = ScaleKernel(RQKernel())
        found = numbers(kernel.requires_grad_())
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_search_draws_nothing_from_torch() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    optimizer = GPUCB(Space({"x": Float(0, 1)}), seed=0, surrogate=GPyTorchSurrogate(built))
    for _ in range(7):
        params = optimizer.ask()
        optimizer.tell(params, params["x"] ** 2)
    optimizer.certificate(UCBbr(0.1))
    assert torch.equal(torch.rand(2), expected)


def test_what_is_imported_when() -> None:
    """Torch when the first surrogate is built, and BoTorch never."""
    script = """
import json, sys, warnings
warnings.simplefilter("ignore")
seen = []
look = lambda: seen.append([name for name in ("torch", "gpytorch", "botorch") if name in sys.modules])
from regretstop_gpytorch import GPyTorchSurrogate
look()
surrogate = GPyTorchSurrogate()
from regretstop import GPUCB, Float, Space, UCBbr
optimizer = GPUCB(Space({"x": Float(0, 1)}), seed=0, surrogate=surrogate)
for _ in range(6):
    optimizer.tell(optimizer.ask(), 0.5)
optimizer.certificate(UCBbr(0.1))
look()
print(json.dumps(seen))
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == [[], ["torch", "gpytorch"]]


# ---- A GPU -------------------------------------------------------------------------------------------------------

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="device must be there, got 'cuda' where CUDA is not available"):
        GPyTorchSurrogate(device="cuda")


@on_gpu
def test_the_gpu_is_used_and_agrees(model: Any) -> None:
    points, values = data_for(SQUARE, 40, n_repeats=4)
    posteriors = [
        GPyTorchSurrogate(model, device=device).fit(points, values, categories=SQUARE, sign=1.0).posteriors[0]
        for device in (None, "cpu")
    ]
    assert posteriors[0]._device.type == "cuda"
    for one, other in zip(*(p.mean_std_gradient(points + 0.01) for p in posteriors), strict=True):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-3)


@on_gpu
def test_a_certificate_from_the_gpu() -> None:
    torch.cuda.manual_seed(5)
    before = torch.cuda.get_rng_state()
    optimizer = GPUCB(Space({"x": Float(0, 1)}), seed=0, surrogate=GPyTorchSurrogate(built))
    default = GPUCB(Space({"x": Float(0, 1)}), seed=0, surrogate=GPyTorchSurrogate())
    for search in (optimizer, default):
        for _ in range(10):
            params = search.ask()
            search.tell(params, params["x"] ** 2)
    assert torch.equal(torch.cuda.get_rng_state(), before)
    assert default.certificate(OptimalityGap(0.1, beta="grid")).bound < float("inf")
