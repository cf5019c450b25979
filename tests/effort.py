"""How many examples hypothesis tries where each costs a fit or a search, milliseconds and not microseconds."""

from hypothesis import settings


def examples(n: int) -> settings:
    """Return settings for n examples of a property where others have 100, at least one."""
    return settings(max_examples=max(n * settings.default.max_examples // 100, 1))
