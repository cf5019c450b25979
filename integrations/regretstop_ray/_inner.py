"""The searcher of an experiment, which Tune's wrappers may hide."""

from typing import Any

from regretstop_ray.search import GPUCBSearch


def searcher_in(search: Any) -> GPUCBSearch:
    """Return the GPUCBSearch inside wrappers such as ConcurrencyLimiter.

    Raises:
        ValueError: If there is none.
    """
    inner = search
    while not isinstance(inner, GPUCBSearch) and hasattr(inner, "searcher"):
        inner = inner.searcher
    if not isinstance(inner, GPUCBSearch):
        raise ValueError(
            f"search must be a GPUCBSearch, got {search!r}: beside another search algorithm give space, metric and "
            "mode instead"
        )
    return inner
