"""Profiles of hypothesis: what it finds by chance must not depend on who runs it, nor on how busy the machine is.

"repeatable" is the default, and what `make test` and CI use: the same examples everywhere. `make test-all` has
`--hypothesis-profile=long`: others every time, and 17 times as many.
"""

from hypothesis import HealthCheck, settings

# Hypothesis also watches the clock, which says more about the machine than about the code.
_NO_CLOCK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _NO_CLOCK, derandomize=True, max_examples=60)
settings.register_profile("long", _NO_CLOCK, derandomize=False, max_examples=1000, print_blob=True)
settings.load_profile("repeatable")
