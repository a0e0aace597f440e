"""Functions of many float32 elements by PyTorch, where the program has loaded it: those that round once or choose, in a tenth of NumPy's time.

NumPy has no wide loop for choices and signs. What PyTorch computes is compared with the kernel at a function's first use, over bit patterns of
all sizes and numbers about the parameters, so that bits stay as they are; functions that it approximates in its own way are not in the table.
PyTorch is never imported for this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import torch_bfloat16
from tt_run.runtime.kernels import torch_twins as twins
from tt_run.runtime.kernels.activations import Applied, Function
from tt_run.runtime.kernels.bfloat16_tables import key_of
from tt_run.runtime.kernels.torch_bfloat16 import WIDE
from tt_run.runtime.kernels.torch_twins import Twin
from tt_run.runtime.kernels.workers import pieces_of, run_tasks
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.torch_rounding import PIECE, is_ready, threads_of_torch

Array = npt.NDArray[Any]


def _relu6(torch: Any) -> Twin:
    # A clamp leaves the sign of a zero.
    return lambda x, *, out: torch.clamp(torch.threshold(x, 0.0, 0.0, out=out), max=6.0, out=out)


def _hardswish(torch: Any) -> Twin:
    gate = twins.SINGLES[f.hardsigmoid](torch)
    return lambda x, *, out: torch.mul(gate(x, out=out), x, out=out)


def _rad2deg(torch: Any) -> Twin:
    return lambda x, *, out: torch.mul(x, float(np.rad2deg(np.float32(1))), out=out)


def _limit(bind: Callable[..., Twin]) -> Callable[..., Twin]:
    """A limit that is no zero, which may have either sign."""

    def twin(torch: Any, number: float) -> Twin:
        if not number:
            raise TypeError(f"no twin beside {number}")
        return bind(torch, float(number))

    return twin


_TWINS: dict[Any, Callable[..., Twin]] = {
    **{
        kernel: twins.SINGLES[kernel] for kernel in (f.sign, f.frac, f.hardsigmoid, np.deg2rad, np.reciprocal)
    },
    **twins.APPLIED,
    **{kernel: _limit(twins.BESIDE[kernel]) for kernel in twins.SIGNED},
    f.relu6: _relu6,
    f.hardswish: _hardswish,
    np.rad2deg: _rad2deg,
}
"""Functions, and those that take numbers after the element."""
_NEAR = 512
"""Elements about each parameter that a function is tried with."""
_RANDOM = 1 << 15


def of_one(function: Function, shards: Shards) -> Shards | None:
    """`function` of many float32 elements; None where it is not for PyTorch, and where a NaN comes out that is another one."""
    data = shards.data
    if data.size <= BLOCK or _parts(function)[0] not in _TWINS or not is_ready():
        return None
    flags = data.flags
    if not flags.c_contiguous or not flags.writeable or data.dtype != np.float32:
        return None
    twin, alike = _twin(function, key_of(function))
    if twin is None:
        return None
    out: Array = empty(data.shape, np.float32)
    source, made = data.reshape(-1), out.reshape(-1)
    wide = made.size // WIDE * WIDE
    if not _filled(twin, alike, source[:wide], made[:wide]):
        return None
    with np.errstate(all="ignore"):  # what the wide loops leave over others of PyTorch's compute
        made[wide:] = function(source[wide:])
    return shards.holding(out)


def _parts(function: Function) -> tuple[Any, tuple[Any, ...]]:
    return (function.function, function.params) if isinstance(function, Applied) else (function, ())


def _filled(twin: Twin, alike: bool, source: Array, out: Array) -> bool:
    """Whether all of `out` was made; `alike`: a NaN is the kernel's."""
    step = BLOCK if threads_of_torch() == 1 else PIECE
    given, made = (sys.modules["torch"].from_numpy(row) for row in (source, out))
    lost: list[int] = []

    def fill(starts: Sequence[int]) -> None:
        for start in starts:
            cut = slice(start, start + step)
            twin(given[cut], out=made[cut])
            if not alike and (largest := np.maximum.reduce(out[cut])) != largest:
                lost.append(start)
                return

    starts, pieces = range(0, out.size, step), pieces_of(out.size)
    run_tasks([partial(fill, starts[p::pieces]) for p in range(pieces)])
    return not lost


@lru_cache(maxsize=256)
def _twin(function: Function, key: str) -> tuple[Twin | None, bool]:
    """What PyTorch has for a function, if it makes the same numbers, and whether it makes the same of what is no number."""
    torch = sys.modules["torch"]
    kernel, params = _parts(function)
    tried = _tried(params)
    with np.errstate(all="ignore"):
        wanted = np.asarray(function(tried))
    found = np.empty_like(tried)
    try:
        twin = _TWINS[kernel](torch, *params)
        twin(torch.from_numpy(tried), out=torch.from_numpy(found))
    except (
        AttributeError,
        RuntimeError,
        TypeError,
    ):  # a release without it, or numbers that it does not take
        return None, False
    if wanted.dtype != np.float32:
        return None, False
    numbers = ~np.isnan(wanted)
    first, second = wanted.view(np.uint32), found.view(np.uint32)
    if not np.array_equal(first[numbers], second[numbers]) or not np.isnan(found[~numbers]).all():
        return None, False
    return twin, np.array_equal(first, second)


def _tried(params: Sequence[Any]) -> Array:
    """Bit patterns of all sizes, and numbers about the parameters and those that functions turn at."""
    random = np.random.default_rng(0)
    found = [random.integers(0, 1 << 32, _RANDOM, np.uint32)]
    found.append((random.standard_normal(_RANDOM) * 4).astype(np.float32).view(np.uint32))
    about = {0.0, 1.0, 3.0, 6.0, float("inf")} | {
        float(p) for p in params if isinstance(p, (int, float, np.floating))
    }
    steps = np.arange(-_NEAR, _NEAR, dtype=np.int64)
    for number in about:
        for sign in (number, -number):
            bits = int(np.float32(sign).view(np.uint32))
            found.append(((bits + steps) % (1 << 32)).astype(np.uint32))
    return np.concatenate(found).view(np.float32)


OF_ONE: dict[DataType, Callable[[Function, Shards], Shards | None]] = {
    DataType.BFLOAT16: torch_bfloat16.of_one,
    DataType.FLOAT32: of_one,
}
"""What makes a function of large shards of a type, or None where computing every element here takes less."""
