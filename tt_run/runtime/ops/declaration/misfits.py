"""What an operation says where Python, NumPy or PyTorch stumbled over what it was given: its name, what was given, and their own words."""

from __future__ import annotations

import linecache
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration.costs import tensors

STUMBLES = (IndexError, NotImplementedError, KeyError, ArithmeticError, RuntimeError)
"""Errors that are looked at beside those of arguments."""


def _last(error: BaseException) -> TracebackType | None:
    found = error.__traceback__
    while found is not None and found.tb_next is not None:
        found = found.tb_next
    return found


def raised_on_purpose(error: BaseException) -> bool:
    """Whether a `raise` outside of the libraries made an error, not a call or an operator that failed; of a class of its own it always did."""
    frame = _last(error)
    if frame is None or (isinstance(error, RuntimeError) and type(error) is not RuntimeError):
        return True
    name = frame.tb_frame.f_code.co_filename
    if any(f"/{library}/" in name.replace(os.sep, "/") for library in ("torch", "numpy", "scipy")):
        return False
    return linecache.getline(name, frame.tb_lineno).lstrip().startswith("raise ")


def misfit(name: str, error: Exception, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Exception:
    """What to raise for operands that NumPy or PyTorch stumbled over; what the runtime says by itself stays as it is."""
    frame = _last(error)
    if frame is None:
        return error
    place = frame.tb_frame.f_code.co_filename.replace(os.sep, "/")
    whole = isinstance(error, (RuntimeError, KeyError, ArithmeticError))
    if raised_on_purpose(error) if whole else "/runtime/tensor/" in place:
        return error
    word = f"{type(error).__name__} {error}" if isinstance(error, (KeyError, ArithmeticError)) else error
    given = ", ".join(f"{t.dtype.name} {t.shape}" for t in tensors([*args, *kwargs.values()]))
    return fatal(
        f"{name}: the operands do not fit: {word}",
        hint=f"they are {given}" if given else f"see ttnn's signature: help({name})",
    )
