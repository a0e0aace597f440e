"""Wrong arguments of public functions, in the reference's words and with the names that exist."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def public(function: Function) -> Function:
    """The function, raising TypeError with its signature and the nearest names when arguments do not fit it."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            mismatch = _mismatch(function, args, kwargs)
            if mismatch is None:
                raise
            raise TypeError(mismatch) from error

    return checked  # type: ignore[return-value]


def _mismatch(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """What is wrong with the arguments; None when they fit and the error came from further inside."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        fault = str(error)
    else:
        return None
    name = function.__name__
    known = list(signature.parameters)
    given = [type(value).__name__ for value in args] + [f"{k}: {type(v).__name__}" for k, v in kwargs.items()]
    near = [(word, difflib.get_close_matches(word, known, 1)) for word in kwargs if word not in known]
    hints = "".join(f"\nhelp: {word!r}: did you mean {match[0]!r}?" for word, match in near if match)
    return (
        f"ttnn.{name}(): incompatible function arguments.\nCalled with:\n    {name}({', '.join(given)})\n"
        f"Available signatures:\n    {name}{str(signature).replace(chr(39), '')}\n{fault}{hints}"
    )
