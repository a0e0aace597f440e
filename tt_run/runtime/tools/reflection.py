"""`ttnn.reflection`: an argument taken out of a call's, as wrappers of operations do. Source: results of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def pop_argument(
    name: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, list[Any], dict[str, Any]]:
    """The first positional argument, or else the one named; and the arguments that are left. Raises ValueError when there is neither."""
    if args:
        first, *left = args
        return first, left, kwargs
    if name not in kwargs:
        raise ValueError(f"Missing argument: {name}")
    return kwargs[name], [], {word: value for word, value in kwargs.items() if word != name}
