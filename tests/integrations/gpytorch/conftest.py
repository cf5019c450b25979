"""GPyTorch is optional; importing it warns of torch.jit, which is neither ours nor what is tested."""

import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    pytest.importorskip("gpytorch")
