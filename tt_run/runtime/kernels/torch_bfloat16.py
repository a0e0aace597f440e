"""Functions of many bfloat16 elements in their 16 bits, by PyTorch, where the program has loaded it: a third of the time and half of the memory.

What PyTorch computes in float32 and rounds once is what the kernels here compute and round, but that is not taken on trust: a function of one
element is compared over all 65,536 of them at its first use, one of two over some million pairs. PyTorch makes another NaN, so blocks
with one are left to the kernel, and so is what its wide loops leave over, which others of its loops compute. It is never imported for this.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import torch_twins as twins
from tt_run.runtime.kernels.activations import Applied, Function, is_closed
from tt_run.runtime.kernels.bfloat16_tables import key_of, look_up, table_pays
from tt_run.runtime.kernels.elementwise import CLOSED, Kernel, evaluate
from tt_run.runtime.kernels.torch_twins import Twin
from tt_run.runtime.kernels.workers import pieces_of, run_tasks
from tt_run.runtime.values.bfloat16 import BFLOAT16, to_wire, widen
from tt_run.runtime.values.float_warnings import restore, silence
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.torch_rounding import PIECE, is_ready, threads_of_torch

Array = npt.NDArray[Any]
Oddity = Callable[[Array], bool]
"""Whether blocks of results have what is left to the kernel."""
STEP = 4 * BLOCK
"""Elements between two looks for a NaN: still near in memory, and so many that the calls cost little."""
WIDE = 64
"""Elements that the wide loops take at a time, or a divisor of this many."""
_TRIALS = 16
_LEAST, _MOST = np.uint16((127 - 109) << 7), np.uint16((127 + 120) << 7)
_INFINITE, _LOWEST, _MAGNITUDE = np.uint16(0x7F80), np.uint16(0xFF80), np.uint16(0x7FFF)

_ZEROS = np.zeros(BLOCK, np.int16)
_SIXES = np.full(BLOCK, np.array(6, BFLOAT16).view(np.int16), np.int16)


def pair(kernel: Kernel, a: Array, b: Array) -> Array | None:
    """`kernel` of two arrays of bfloat16 elements, of one shape; None where it is not for PyTorch."""
    twin, odd = twin_of_pair(kernel) if kernel in twins.PAIRS and fit(a, b) and is_ready() else _NONE
    if twin is None:
        return None
    return _computed(twin, partial(_by_kernel, kernel, kernel in CLOSED), a, b, odd=odd)


def beside_number(kernel: Kernel, a: Array, number: Any) -> Array | None:
    """`kernel` of an array of bfloat16 elements and a number of that type; None where it is not for PyTorch."""
    twin = _twin_beside(kernel, number) if fit(a) and is_ready() else None
    if twin is None:
        return None
    # Results beside a number are rounded always, their NaN too.
    ours = partial(_by_kernel, _beside(kernel, number), False)
    return _computed(twin, ours, a, odd=_look_beside(kernel))


def has_several(kernel: Kernel, count: int, numbers: Sequence[Any]) -> bool:
    """Whether PyTorch is there for a kernel of several operands and of numbers after them."""
    if kernel not in twins.SEVERAL or not is_ready():
        return False
    short = kernel in twins.PRODUCTS_AND_SUMS
    return not (short and any(BFLOAT16.type(n) != n for n in numbers)) and _takes_several(kernel, count)


def several(kernel: Kernel, operands: Sequence[Array], numbers: Sequence[Any]) -> Array:
    """`kernel` of large arrays of bfloat16 elements, of one shape, and of numbers after them, for which PyTorch is there."""
    twin = twins.SEVERAL[kernel](sys.modules["torch"], *map(float, numbers))
    return _computed(twin, partial(_by_kernel, _with(kernel, numbers), False), *operands, odd=_oddity(kernel))


def running(kernel: Kernel, a: Array) -> Array | None:
    """What `kernel` makes of each row of large bfloat16 elements from its first one on; None where it is not for PyTorch, and where a NaN comes out."""
    if kernel not in twins.RUNNING or not fit(a) or not is_ready() or not _takes_running(kernel):
        return None
    out: Array = empty(a.shape, BFLOAT16)
    _run_along(kernel, a, out)
    return None if has_nan(out) else out


def single(function: Function, a: Array) -> Array | None:
    """`function` of an array of bfloat16 elements; None where it is not for PyTorch."""
    if function in (f.relu, f.relu6) and fit(a):
        return _relu(a, _SIXES if function is f.relu6 else None)
    twin, odd = _twin(function, key_of(function)) if fit(a) and _known(function) else _NONE
    if twin is None:
        return None
    ours = partial(_by_kernel, function, True) if is_closed(function) else partial(look_up, function)
    return _computed(twin, ours, a, odd=odd)


def of_one(function: Function, shards: Shards) -> Shards | None:
    """`function` of shards of BFLOAT16 as such shards, by PyTorch or by table; None where to compute every element takes less."""
    elements, stack = shards.bfloat16, shards.stack
    if stack.size <= BLOCK:
        return None
    closed = is_closed(function)
    tabled, found = not closed and table_pays(function, stack.size), None
    if elements is not None or (not closed and _known(function)):
        found = single(function, elements_of(shards))
    if found is None and tabled:
        found = look_up(function, stack)
    return None if found is None else shards.holding(found)


def of_pair(kernel: Kernel, a: Shards, b: Shards) -> Shards | None:
    """`kernel` of shards of BFLOAT16 in the same places; None as in `of_one`."""
    if kernel is f.subtract_from:
        kernel, a, b = np.subtract, b, a
    if not _pays(kernel, a, b) or kernel not in twins.PAIRS or a.shape != b.shape:
        return None
    found = pair(kernel, elements_of(a), elements_of(b)) if twin_of_pair(kernel)[0] is not None else None
    return None if found is None else a.holding(found)


def of_number(kernel: Kernel, shards: Shards, number: Any) -> Shards | None:
    """`kernel` of shards of BFLOAT16 and a number; None as in `of_one`."""
    # What may be converted for nothing is asked about before.
    if not _pays(kernel, shards) or _twin_beside(kernel, number) is None:
        return None
    found = beside_number(kernel, elements_of(shards), number)
    return None if found is None else shards.holding(found)


def _pays(kernel: Kernel, *operands: Shards) -> bool:
    """Whether PyTorch is to have a kernel: to bring one of two operands into 16 bits for it pays where the result would still have to be rounded."""
    if operands[0].stack.size <= BLOCK or not is_ready():
        return False
    short = [each.bfloat16 is not None for each in operands]
    # NumPy chooses between an array and one number in the time of both conversions.
    return all(short) or (any(short) and kernel not in CLOSED) or (len(short) == 1 and kernel in twins.SIGNED)


def elements_of(shards: Shards) -> Array:
    """The stack of shards of BFLOAT16 in 16 bits."""
    elements, data = shards.bfloat16, cast("Array", shards.stack)
    return to_wire(data).view(BFLOAT16) if elements is None else elements


def _known(function: Function) -> bool:
    """Whether PyTorch may have a function."""
    if not is_ready():
        return False
    return function.function in twins.APPLIED if isinstance(function, Applied) else function in twins.SINGLES


def _relu(a: Array, most: Array | None = None) -> Array:
    """Read as integers, numbers below zero are below zero, and the others in order; a NaN stays what it is. `most`: a block of limits."""
    out: Array = empty(a.shape, BFLOAT16)
    source, target = a.reshape(-1).view(np.int16), out.reshape(-1).view(np.int16)
    for start in range(0, source.size, BLOCK):
        block, rest = source[start : start + BLOCK], target[start : start + BLOCK]
        # Beside a number instead of an array of it the loop takes eight times as long.
        np.maximum(block, _ZEROS[: block.size], out=rest)
        if most is not None:
            np.minimum(rest, most[: block.size], out=rest)
        bits = block.view(np.uint16)
        if has_nan(bits, marked=most is None):
            np.copyto(rest, block, where=bits & _MAGNITUDE > _INFINITE)
    return out


def fit(*operands: Array) -> bool:
    first = operands[0]
    return first.size > BLOCK and all(o.flags.c_contiguous and o.shape == first.shape for o in operands)


def _computed(twin: Twin, ours: Callable[..., Array], *operands: Array, odd: Oddity) -> Array:
    """By PyTorch but for blocks that are odd, which is to have a NaN, and for the last elements, which `ours` makes."""
    out: Array = empty(operands[0].shape, BFLOAT16)
    rows = [o.reshape(-1) for o in (*operands, out)]
    size = out.size
    pieces = pieces_of(size)
    ends = [size * p // pieces // WIDE * WIDE for p in range(pieces + 1)]
    cuts = [slice(*ends[p : p + 2]) for p in range(pieces)]
    run_tasks([partial(_fill, twin, ours, odd, [row[cut] for row in rows]) for cut in cuts])
    if ends[-1] < size:
        *given, rest = [row[ends[-1] :] for row in rows]
        np.copyto(rest, ours(*given))
    return out


def _fill(twin: Twin, ours: Callable[..., Array], odd: Oddity, rows: list[Array]) -> None:
    step = PIECE if threads_of_torch() > 1 else rows[-1].size if odd is _nothing else STEP
    tensors = [tensor_over(row) for row in rows]
    bits = rows[-1].view(np.uint16)
    for start in range(0, bits.size, step):
        cut = slice(start, start + step)
        *given, out = [tensor[cut] for tensor in tensors]
        twin(*given, out=out)
        if odd(bits[cut]):
            # Where there is one there are others, as for square roots of anything.
            np.copyto(rows[-1][start:], ours(*(row[start:] for row in rows[:-1])))
            return


def _by_kernel(kernel: Kernel, closed: bool, *operands: Array) -> Array:
    """What the kernel makes of arrays of bfloat16 elements."""
    wide = [widen(operand) for operand in operands]
    if not closed:
        return to_wire(evaluate(kernel, DataType.BFLOAT16, *wide)).view(BFLOAT16)
    # What is not rounded keeps its NaN, as in a large stack.
    before = silence()
    try:
        return to_wire(kernel(*wide)).view(BFLOAT16)
    finally:
        restore(before)


def tensor_over(row: Array) -> Any:
    torch = sys.modules["torch"]
    return torch.from_numpy(row.view(np.int16)).view(torch.bfloat16)


def _nothing(elements: Array) -> bool:
    """The look of functions whose NaN are alike."""
    return False


def has_nan(elements: Array, *, marked: bool = False) -> bool:
    """Whether any of contiguous bfloat16 elements is none: by the largest of those with and without a sign, read as integers.

    `marked`: one that is none has a sign, so that half of the look is enough.
    """
    bits = elements.reshape(-1).view(np.uint16)
    if np.maximum.reduce(bits) > _LOWEST:
        return True
    return not marked and bool(np.maximum.reduce(bits.view(np.int16)) > _INFINITE)


def _has_signed_nan(elements: Array) -> bool:
    """The look of functions every NaN of which has a sign, as PyTorch's wide loops give it where they round."""
    return has_nan(elements, marked=True)


def has_edges(bits: npt.NDArray[np.uint16]) -> bool:
    """Whether any of bfloat16 elements is none, from 2**120 on, or below 2**-109 and not zero.

    PyTorch's loops may leave out the rounding of a product before its sum. A product of three bfloat16 numbers has 24 bits, so that there
    is nothing to round, unless it lies beyond float32 (then the sum reaches 2**120, whatever is added) or has bits below its smallest number
    (then the product is below 2**-125, too small to lead to a middle between two bfloat16 numbers from 2**-109 on).
    """
    sizes = np.bitwise_and(bits, _MAGNITUDE)
    if np.maximum.reduce(sizes - _LEAST) < _MOST - _LEAST:
        return False
    sizes -= np.uint16(1)  # a zero comes last
    return bool(np.minimum.reduce(sizes) < _LEAST - 1 or (sizes[sizes < _MAGNITUDE] >= _MOST - 1).any())


def _oddity(kernel: Kernel) -> Oddity:
    return has_edges if kernel in twins.PRODUCTS_AND_SUMS else has_nan


_NONE: tuple[Twin | None, Oddity] = (None, has_nan)


@lru_cache(maxsize=256)
def _twin(function: Function, key: str) -> tuple[Twin | None, Oddity]:
    """What PyTorch has for a function of one element, if it gives the same of all of them, and what to look for in its results: the NaN of
    the few that only move or change signs are the kernel's.
    """
    torch = sys.modules["torch"]
    try:
        twin = (
            twins.APPLIED[function.function](torch, *function.params)
            if isinstance(function, Applied)
            else twins.SINGLES[function](torch)
        )
    except AttributeError:  # a release without it
        return _NONE
    every = np.arange(1 << 16, dtype=np.uint16)
    closed = is_closed(function)
    if not _agrees(twin, function, closed, every):
        return _NONE
    return twin, _nothing if _agrees(twin, function, closed, every, nan=True) else _look_of(twin, every)


@lru_cache(maxsize=64)
def twin_of_pair(kernel: Kernel) -> tuple[Twin | None, Oddity]:
    """What PyTorch has for a function of two elements, if it gives the same of each with some others, and what to look for."""
    twin = twins.PAIRS[kernel](sys.modules["torch"])
    random = np.random.default_rng(0)
    each = np.arange(1 << 16, dtype=np.uint16)
    for _ in range(_TRIALS):
        if not _agrees(twin, kernel, kernel in CLOSED, each, random.permutation(each)):
            return _NONE
    # Numbers of about the same size, and zeros of both signs, which seldom meet by chance.
    near = (each ^ np.uint16(0x8000), each ^ np.uint16(1), each & np.uint16(0x8000), each)
    if not all(_agrees(twin, kernel, kernel in CLOSED, each, other) for other in near):
        return _NONE
    looks = {_look_of(twin, *pair) for other in near for pair in ((each, other), (other, each))}
    return twin, looks.pop() if len(looks) == 1 else has_nan


def _twin_beside(kernel: Kernel, number: Any) -> Twin | None:
    """What PyTorch has for a kernel beside a number, if bfloat16 holds that and it gives the same."""
    known = kernel in twins.BESIDE and BFLOAT16.type(number) == number
    if not known or (number == 0 and kernel in twins.SIGNED) or not _takes_numbers(kernel):
        return None
    return twins.BESIDE[kernel](sys.modules["torch"], float(number))


@lru_cache(maxsize=64)
def _look_beside(kernel: Kernel) -> Oddity:
    """What to look for in results of a kernel beside a number, after all elements beside an infinite one, of which NaN come too."""
    bind, torch = twins.BESIDE[kernel], sys.modules["torch"]
    each = np.arange(1 << 16, dtype=np.uint16)
    looks = {_look_of(bind(torch, number), each) for number in (1.5, float("inf"), -float("inf"), 0.0)}
    return looks.pop() if len(looks) == 1 else has_nan


def _look_of(twin: Twin, *operands: npt.NDArray[np.uint16]) -> Oddity:
    """What to look for in results: half as much where each NaN among those of these operands has a sign."""
    found = np.empty(operands[0].size, np.uint16)
    twin(*map(tensor_over, operands), out=tensor_over(found))
    nan = found[(found & _MAGNITUDE) > _INFINITE]
    return _has_signed_nan if nan.size and bool((nan > _LOWEST).all()) else has_nan


def _beside(kernel: Kernel, number: Any) -> Kernel:
    return lambda x: kernel(x, np.float32(number))


@lru_cache(maxsize=64)
def _takes_numbers(kernel: Kernel) -> bool:
    """Whether PyTorch gives the same of all elements beside some numbers."""
    each = np.arange(1 << 16, dtype=np.uint16)
    chosen = np.random.default_rng(0).choice(each[(each & _MAGNITUDE) <= _INFINITE], _TRIALS).view(BFLOAT16)
    zeros = () if kernel in twins.SIGNED else (np.float32(0), np.float32(-0.0))
    numbers = [*chosen.astype(np.float32), *zeros, np.float32(1.5)]
    torch = sys.modules["torch"]
    return all(
        _agrees(twins.BESIDE[kernel](torch, float(number)), _beside(kernel, number), kernel in CLOSED, each)
        for number in numbers
    )


def _with(kernel: Kernel, numbers: Sequence[Any]) -> Kernel:
    given = [np.float32(number) for number in numbers]
    return lambda *arrays: kernel(*arrays, *given)


@lru_cache(maxsize=64)
def _takes_several(kernel: Kernel, count: int) -> bool:
    """Whether PyTorch gives the same of many elements of all sizes, and of many that cancel.

    What tells a product that is rounded from one that is not is a sum of which little is left: numbers of about the same size have many.
    """
    torch, random = sys.modules["torch"], np.random.default_rng(0)
    takes_number = len(inspect.signature(kernel).parameters) > count
    every = np.arange(1 << 16, dtype=np.uint16)
    near = every[(every & _MAGNITUDE) >> 7 == 0x7F]
    factors = _FACTORS if kernel in twins.PRODUCTS_AND_SUMS else _FACTORS + _LONG_FACTORS
    for number in factors if takes_number else (None,):
        numbers = () if number is None else (number,)
        twin = twins.SEVERAL[kernel](torch, *numbers)
        for elements in (every, np.tile(near, 256)):
            given = [random.permutation(elements) for _ in range(count)]
            if not _agrees(
                twin, _with(kernel, numbers), False, *given, edges=kernel in twins.PRODUCTS_AND_SUMS
            ):
                return False
    return True


def _run_along(kernel: Kernel, a: Array, out: Array) -> None:
    call = twins.found(sys.modules["torch"], twins.RUNNING[kernel])
    call(tensor_over(a), a.ndim - 1, out=tensor_over(out))


@lru_cache(maxsize=8)
def _takes_running(kernel: Kernel) -> bool:
    """Whether PyTorch gives the same of numbers of about the same size, and of all sizes."""
    random = np.random.default_rng(0)
    numbers = (random.standard_normal((64, 1024)) + 0.5).astype(np.float32)
    sizes = np.float32(2.0) ** random.integers(-60, 60, numbers.shape)
    for values in (numbers, np.abs(numbers), numbers * sizes.astype(np.float32)):
        elements = values.astype(BFLOAT16)
        found: Array = np.empty(elements.shape, BFLOAT16)
        _run_along(kernel, elements, found)
        with np.errstate(all="ignore"):
            wanted = kernel.accumulate(elements.astype(np.float32), axis=-1)  # type: ignore[attr-defined]
        if not np.array_equal(
            to_wire(evaluate(np.positive, DataType.BFLOAT16, wanted)), found.view(np.uint16)
        ):
            return False
    return True


_FACTORS = (1.0, 0.5, -1.0, 0.0, 1.9921875, -0.0009765625, 2.0**127)
_LONG_FACTORS = (1 + 2**-23, *map(float, np.array([0.3, -1.7, 1e-3], np.float32)))


def _agrees(
    twin: Twin,
    kernel: Kernel,
    closed: bool,
    *operands: npt.NDArray[np.uint16],
    edges: bool = False,
    nan: bool = False,
) -> bool:
    """Whether both make the same numbers, and something that is no number of the same operands; `edges` (see `has_edges`) aside, or with `nan` all
    bits.
    """
    elements = [bits.view(BFLOAT16) for bits in operands]
    wanted = _by_kernel(kernel, closed, *elements).view(np.uint16)
    found = np.empty(wanted.size, np.uint16)
    try:
        twin(*map(tensor_over, elements), out=tensor_over(found))
    except (AttributeError, RuntimeError, TypeError):
        return False
    if edges:
        sizes = found & _MAGNITUDE
        inside = ((sizes >= _LEAST) & (sizes < _MOST)) | (sizes == 0)
        return np.array_equal(found[inside], wanted[inside])
    if nan:
        return np.array_equal(found, wanted)
    numbers = (wanted & _MAGNITUDE) <= _INFINITE
    return np.array_equal(found[numbers], wanted[numbers]) and not (
        (found[~numbers] & _MAGNITUDE <= _INFINITE).any()
    )
