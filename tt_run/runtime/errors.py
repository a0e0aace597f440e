"""How the emulated library words its errors.

A refused call raises RuntimeError with the text of a native check: where, `info:`, the message (reference library 0.81.1);
wrong arguments raise TypeError with the signatures that exist. Programs test the message after `info:`.
Use as `raise fatal("...")`: the functions build the exception, so that control flow stays visible at the call.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence


def fatal(message: str, condition: str = "false", *, hint: str | None = None) -> RuntimeError:
    """The error of a failed check: `TT_FATAL @ file:line: condition`, `info:`, the message.

    A hint of ours goes above `info:`, so that the message stays what programs compare it with.
    """
    advice = f"help: {hint}\n" if hint else ""
    return RuntimeError(f"TT_FATAL @ {_caller()}: {condition}\n{advice}info:\n{message}")


def throw(message: str, *, hint: str | None = None) -> RuntimeError:
    """The error of an unconditional refusal: `TT_THROW @ file:line: tt::exception`, `info:`, the message; a hint as in `fatal`."""
    advice = f"help: {hint}\n" if hint else ""
    return RuntimeError(f"TT_THROW @ {_caller()}: tt::exception\n{advice}info:\n{message}")


def in_range(name: str, rank: int) -> str:
    """The hint for a dimension that a tensor does not have: the numbers that `name` may be."""
    return f"{name} is one of {', '.join(map(str, range(rank)))}, or counts from the end: -1 to -{rank}"


def put_on_device(name: str) -> str:
    """The hint for a tensor that has to be on a device: the call that puts it there."""
    return f"ttnn.to_device({name}, device) puts it there; so does device=… where it is made"


def read_to_host(name: str) -> str:
    """The hint for a tensor that has to be in host memory."""
    return f"ttnn.from_device({name}) brings it to host memory"


def in_tiles(name: str) -> str:
    """The hint for a tensor that has to be in tiles."""
    return f"ttnn.to_layout({name}, ttnn.TILE_LAYOUT)"


def in_rows(name: str) -> str:
    """The hint for a tensor that has to be in rows."""
    return f"ttnn.to_layout({name}, ttnn.ROW_MAJOR_LAYOUT)"


def as_type(name: str, *dtypes: str) -> str:
    """The hint for a tensor of another element type: the calls that make one of those that are taken."""
    return " or ".join(f"ttnn.typecast({name}, ttnn.{dtype})" for dtype in dtypes)


def sentence_of(error: BaseException) -> str:
    """What an error says, without where it was raised and without hints."""
    return str(error).rpartition("info:\n")[2]


def incompatible(
    name: str,
    signatures: Sequence[str],
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
) -> TypeError:
    """Wrong arguments of a bound function: the signatures that exist, and the types that were given.

    `args` includes the receiver of a method, as the reference prints it.
    """
    listed = "\n".join(f"    {i}. {signature}" for i, signature in enumerate(signatures, 1))
    given = [type_name(value) for value in args]
    if kwargs:
        given.append("kwargs = { " + ", ".join(f"{k}: {type_name(v)}" for k, v in kwargs.items()) + " }")
    return TypeError(
        f"{name}(): incompatible function arguments. The following argument types are supported:\n{listed}\n\n"
        f"Invoked with types: {', '.join(given)}"
    )


class ArgumentMismatch(TypeError):
    """A function was given an argument of a kind that no signature takes; the caller sees the list of signatures instead: its own, where it has
    several `signatures`."""

    signatures: tuple[str, ...] = ()


def type_name(value: object) -> str:
    """The name of a value's type as the reference prints it; classes of the library carry theirs in `_bound_name`."""
    kind = type(value)
    bound = getattr(kind, "_bound_name", None)
    if isinstance(bound, str):
        return bound
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _caller() -> str:
    """File (from the package on) and line of whoever built the error."""
    frame = sys._getframe(2)
    path = frame.f_code.co_filename
    return f"{path[path.rfind('tt_run') :]}:{frame.f_lineno}"
