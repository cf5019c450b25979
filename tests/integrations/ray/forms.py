"""What `ray.tune` has had since Ray 2.43, and `ray.train` before."""

try:
    from ray.tune import FailureConfig, RunConfig, get_context, report
except ImportError:
    from ray.train import FailureConfig, RunConfig, get_context, report

__all__ = ["FailureConfig", "RunConfig", "get_context", "report"]
