"""GP-UCB whose points also bring a regret bound down."""

from regretstop_optuna import GPUCBSampler


__all__ = ["GPUCBSampler"]
