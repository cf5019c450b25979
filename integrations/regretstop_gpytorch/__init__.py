"""GPyTorch: the surrogate on the field's own library, for a kernel of your own or a GPU."""

from regretstop_gpytorch.surrogate import GPyTorchSurrogate

__all__ = ["GPyTorchSurrogate"]
