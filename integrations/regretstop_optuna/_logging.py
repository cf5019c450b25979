"""The package's logger, heard and silenced together with Optuna's own."""

import logging

import optuna

# By default Python shows no INFO message, and a run that ends early without a word puzzles its
# user. As a child of Optuna's logger this one shares its handler and obeys `set_verbosity`,
# `disable_default_handler` and `enable_propagation` of `optuna.logging`.
logger = logging.getLogger("regretstop_optuna")
logger.parent = logging.getLogger(optuna.__name__)
