"""The package's logger, heard and silenced together with Ray's own."""

import logging

# By default Python shows no INFO message, and a run that ends early without a word puzzles its user. As a child of
# Ray's logger this one shares its handler and level.
logger = logging.getLogger("regretstop_ray")
logger.parent = logging.getLogger("ray")
