"""The model options that the adapters pass on to `GPUCB`, checked before there is a space."""

from typing import Any

from regretstop.optimizer import GPUCB
from regretstop.spaces import Float, Space


def check_options(**options: Any) -> None:
    """Check arguments of `GPUCB` where the search space is known after the first evaluation only.

    Raises:
        ValueError: If the options are wrong, whatever the space will be.
    """
    lengthscales = getattr(options.get("kernel"), "lengthscales", None) or (1.0,)
    GPUCB(Space({str(axis): Float(0, 1) for axis in range(len(lengthscales))}), **options)
