"""Benchmarks of `regretstop`: `python -m benchmarks --help`. Not shipped."""
