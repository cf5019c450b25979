"""Settings of a rule in words, by which a stored decision is known to be one of the same rule."""

import sys
import uuid
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

# Of each function that no name stands for, while it lives: an address is another function's as soon as it is free.
_marks: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def words_for(setting: Any) -> str:
    """Return the same words for the same setting, in another process too.

    A function is known by its name if it is found by that, as those of a module are. A lambda, a local function, a
    method of an object and a partial one are not: what they do may have changed by the next time, so none is the same
    as another one.
    """
    if not callable(setting) or _has_words(setting):
        return repr(setting)
    name = f"{getattr(setting, '__module__', None)}.{getattr(setting, '__qualname__', type(setting).__qualname__)}"
    return name if _is_found(setting) else f"{name} {_mark_of(setting)}"


def _has_words(setting: Any) -> bool:
    """Return whether its class says what it is made of, as dataclasses do; Python itself says an address."""
    return isinstance(type(setting).__repr__, FunctionType)


def _is_found(function: Any) -> bool:
    found: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in getattr(function, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is function


def _mark_of(function: Any) -> str:
    """Return a word that no other object has, and none in another process."""
    try:
        return _marks.setdefault(function, uuid.uuid4().hex)
    except TypeError:  # it cannot be hashed, or goes without weak references: not even the same as itself
        return uuid.uuid4().hex
