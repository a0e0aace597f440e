"""Runs in shapes: tensors without values, which cost by the number of calls and not by elements or devices.

A tensor then has a stack without rows, `(0, *shard shape)`, and an index of all its devices as always. Kernels run on such stacks and
NumPy and PyTorch give the shape and element type of the result, so no operation has a second rule. What a program reads are zeros.
The mode is TT_RUN_SHAPES_ONLY for a whole run, or `only()` for a stretch of program (a graph capture that dispatches nothing).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tt_run import contract
from tt_run.runtime import events
from tt_run.runtime.errors import fatal

Array = npt.NDArray[Any]
T = TypeVar("T")

_STRICT = "strict"
_WORDS = {"": None, "0": None, "off": None, "1": "on", "on": "on", _STRICT: _STRICT}

_mode: str | None = None
_known = False
_said: set[str] = set()


def active() -> bool:
    """Whether tensors hold no values. Raises RuntimeError for a word in TT_RUN_SHAPES_ONLY that says neither."""
    return _mode is not None if _known else _from_environment()


def _from_environment() -> bool:
    global _mode, _known
    word = os.environ.get(contract.SHAPES_ONLY, "").strip().lower()
    if word not in _WORDS:
        raise RuntimeError(f"{contract.SHAPES_ONLY}={word!r}: say 1, or {_STRICT} to refuse reading values")
    _mode, _known = _WORDS[word], True
    return _mode is not None


@contextmanager
def only(*, strict: bool = False) -> Iterator[None]:
    """Tensors made inside of the block hold no values; `strict` refuses to read any."""
    global _mode
    active()
    before, _mode = _mode, _STRICT if strict else "on"
    try:
        yield
    finally:
        _mode = before


def rows(count: int = 1) -> int:
    """How many of `count` rows a new stack has: none in a run in shapes."""
    return 0 if active() else count


def bare(shape: Iterable[int], dtype: npt.DTypeLike) -> Array:
    """The stack of shards of a shape that hold no values."""
    return np.empty((0, *shape), dtype)


def result(function: Callable[..., T], stacks: Sequence[Array]) -> T:
    """What a kernel makes of stacks without rows. One that cannot be asked that way gets one row of zeros, whose errors are the program's."""
    try:
        return function(*(stack[:0] for stack in stacks))
    except Exception:
        with np.errstate(all="ignore"):
            return function(*(zeros((1, *stack.shape[1:]), stack.dtype) for stack in stacks))


def zeros(shape: Iterable[int], dtype: npt.DTypeLike) -> Array:
    """Zeros in the memory of one: what stands for a shard that holds no values."""
    return np.broadcast_to(np.zeros((), dtype), tuple(shape))


def without_memory(array: Array) -> bool:
    """Whether an array is one element seen many times, as `zeros` makes them."""
    return array.size > 1 and not any(array.strides)


@lru_cache(maxsize=1024)
def whole(index: tuple[int, ...]) -> tuple[int, ...]:
    """The index of a stack without rows: 0 for a device that holds a shard, -1 for one that holds none."""
    return tuple([0 if row >= 0 else -1 for row in index])


def values_read(shape: Iterable[int]) -> None:
    """Say, once for each line of the program, that it read values that are not there.

    Raises RuntimeError with the line in a strict run.
    """
    if not active():
        return
    site = events.call_site()
    if _mode == _STRICT:
        raise fatal(
            f"{site} reads the values of a tensor of shape {list(shape)}, and this run has shapes only",
            hint="leave out what depends on values, or run with --shapes-only, which gives zeros",
        )
    if site not in _said:
        _said.add(site)
        print(f"shapes only: {site} reads values of shape {list(shape)}: zeros", file=sys.stderr, flush=True)
