"""How many examples hypothesis tries where each costs a fit or a search, milliseconds and not microseconds."""

from hypothesis import settings


def examples(n: int) -> settings:
    """Return settings for n examples of a property; with a profile of more examples than 100, for as many more."""
    return settings(max_examples=n * settings.default.max_examples // 100)
