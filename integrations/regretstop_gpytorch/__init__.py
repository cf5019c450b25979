"""GPyTorch: the surrogate on the field's own library, for a kernel of your own or a GPU."""

from importlib.util import find_spec

try:
    # Only found here: it is imported, which takes seconds, with the first surrogate.
    if find_spec("gpytorch") is None:
        raise ModuleNotFoundError("No module named 'gpytorch'", name="gpytorch")
except ImportError as error:
    raise ImportError("regretstop_gpytorch needs GPyTorch: pip install 'regretstop[gpytorch]'") from error

from regretstop_gpytorch.surrogate import GPyTorchSurrogate

__all__ = ["GPyTorchSurrogate"]
