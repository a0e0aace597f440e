"""How a rank stores a mesh tensor: each distinct shard once, and which of its devices holds which.

DESIGN names a stack of (local rows, local columns, *shard) with broadcast views for replicas. A flat stack of *distinct* shards plus
an index says the same and more: a snake of a mesh cut over ranks, a submesh, a distribution over fewer devices, and replication
along one axis only have no rectangular stack, yet all have an index. What is replicated is stored once and also computed once:
the per-device call is the same call with the same bits, so one result serves every device that would have made it.

Arrays hold the *logical* shape; tile padding is a fact of the layout, never stored, so it cannot leak into a reduction.
Treat `data` as read-only once it is in a `Shards`: replicas share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.values import shapes
from tt_run.runtime.values.bfloat16 import BFLOAT16, widen

Array = npt.NDArray[np.generic]
_set = object.__setattr__


@dataclass(frozen=True, eq=False, slots=True)
class Shards:
    """`data` has shape (distinct shards, *shard shape); `index[i]` is the row of `data` that local device i holds, -1 for none.

    Local devices are numbered in row-major order of their coordinates on the mesh device. In a run in shapes `data` has no rows, and
    every device that holds a shard has index 0: see `tt_run.runtime.values.shapes`.
    Raises ValueError when an index points outside `data`.
    """

    data: Array
    index: tuple[int, ...]
    bits: Array | None = None
    """The same values in 16 bits each, where whoever rounded `data` to bfloat16 has kept them."""
    bfloat16: ClassVar[Array | None] = None
    """The stack as bfloat16 elements, in place of `data` until somebody asks for that: see `of_bfloat16`."""

    def __post_init__(self) -> None:
        if shapes.active():
            _set(self, "index", shapes.whole(self.index))
            if len(self.data):
                _set(self, "data", shapes.bare(self.data.shape[1:], self.data.dtype))
        elif self.index and not -1 <= min(self.index) <= max(self.index) < max(len(self.data), 1):
            raise ValueError(f"shard index {self.index} does not fit {len(self.data)} shards")

    @classmethod
    def unchecked(cls, data: Array, index: tuple[int, ...], bits: Array | None = None) -> Shards:
        """The same without the check, for an index that is known to fit."""
        made: Shards = object.__new__(cls)
        _set_data(made, data)
        _set_index(made, index)
        _set_bits(made, bits)
        return made

    @classmethod
    def of_bfloat16(cls, bfloat16: Array, index: tuple[int, ...]) -> Shards:
        """Shards of bfloat16 elements in 16 bits each, for an index that is known to fit.

        `data` is made when it is asked for first, and they are let go then. Who can work on either form asks for `stack`.
        """
        made: Shards = object.__new__(_Bfloat16)
        _set_index(made, index)
        _set_bits(made, None)
        _set_bfloat16(made, bfloat16)
        return made

    @classmethod
    def made(cls, stack: Array, index: tuple[int, ...]) -> Shards:
        """Shards over a stack in either form, as an operation has made it."""
        if stack.itemsize == 2 and stack.dtype == BFLOAT16:
            return cls.of_bfloat16(stack, index)
        return cls(stack, index)

    def holding(self, data: Array) -> Shards:
        """As many other shards in the same places; `data` in either form."""
        index, bfloat16 = self.index, self.bfloat16
        if shapes.active() or len(data) != len(self.data if bfloat16 is None else bfloat16):
            return Shards(data, index)
        if data.itemsize == 2 and data.dtype == BFLOAT16:
            return Shards.of_bfloat16(data, index)
        return Shards.unchecked(data, index)

    def placed(self, index: tuple[int, ...]) -> Shards:
        """The same stack, whose rows other devices hold. Raises ValueError as the constructor does."""
        bfloat16 = self.bfloat16
        if bfloat16 is None:
            return Shards(self.data, index)
        Shards(bfloat16, index)  # for its check
        return Shards.of_bfloat16(bfloat16, index)

    @classmethod
    def replicated(cls, array: Array, devices: int) -> Shards:
        """The same shard on every one of `devices` local devices: the memory of one."""
        return cls(array[None], (0,) * devices)

    @classmethod
    def from_each(cls, arrays: Sequence[Array | None], like: Array | None = None) -> Shards:
        """One shard per local device (None: the device holds nothing); the same object given twice is stored once.

        `like`, a stack of any length, tells the shard shape and type where no device holds a shard.
        """
        rows: dict[int, int] = {}
        distinct: list[Array] = []
        index: list[int] = []
        if shapes.active():
            known = next((array for array in arrays if array is not None), None)
            data = shapes.bare(known.shape, known.dtype) if known is not None else like
            held = tuple(-1 if array is None else 0 for array in arrays)
            return cls(np.empty((0,), np.float32) if data is None else data[:0], held)
        for array in arrays:
            if array is None:
                index.append(-1)
                continue
            if id(array) not in rows:
                rows[id(array)] = len(distinct)
                distinct.append(array)
            index.append(rows[id(array)])
        if not distinct:
            return cls(np.empty((0,), np.float32) if like is None else like[:0], tuple(index))
        data = distinct[0][None] if len(distinct) == 1 else np.stack(distinct)
        return cls(data, tuple(index))

    @property
    def stack(self) -> Array:
        """The stack in the form that is there: `data`, or bfloat16 elements. For its shape, and for who can work on both."""
        bfloat16 = self.bfloat16
        return self.data if bfloat16 is None else bfloat16

    @property
    def shape(self) -> tuple[int, ...]:
        """Logical shape of one shard."""
        bfloat16 = self.bfloat16
        return (self.data if bfloat16 is None else bfloat16).shape[1:]

    @property
    def bare(self) -> bool:
        """Whether devices hold shards, but no values of them."""
        return not len(self.stack) and bool(self.index) and max(self.index) >= 0

    def row(self, number: int) -> Array:
        """A row of the stack, a view; zeros where it has none."""
        # The ellipsis keeps a shard without dimensions an array.
        return self.data[number, ...] if len(self.data) else shapes.zeros(self.shape, self.data.dtype)

    def of(self, device: int) -> Array | None:
        """The shard of a local device, a view; zeros in a run in shapes."""
        row = self.index[device]
        return None if row < 0 else self.row(row)

    def each(self) -> list[Array | None]:
        """The shard of every local device, views; replicas are the same object. Zeros in a run in shapes."""
        if self.bare:
            zeros = self.row(0)
            return [zeros if i >= 0 else None for i in self.index]
        rows = [self.data[i, ...] for i in range(len(self.data))]
        return [rows[i] if i >= 0 else None for i in self.index]

    def compact(self) -> Shards:
        """The same shards without the rows of `data` that no device points to; a view where those that are left lie at even distances."""
        used = sorted({row for row in self.index if row >= 0})
        if len(used) == len(self.data) or self.bare:
            return self
        number = {row: i for i, row in enumerate(used)}
        first, step = (used or [0])[0], used[1] - used[0] if len(used) > 1 else 1
        evenly = slice(first, first + len(used) * step, step)
        data = self.data[evenly if used == [*range(len(self.data))[evenly]] else used]
        return Shards(data, tuple(number.get(row, -1) for row in self.index))

    def over(self, held: Shards) -> Shards:
        """These shards, and those of `held` on devices that have none of these."""
        if not any(row < 0 <= kept for row, kept in zip(self.index, held.index, strict=True)):
            return self
        pairs = zip(self.each(), held.each(), strict=True)
        return Shards.from_each([kept if new is None else new for new, kept in pairs], like=held.data)

    def map(self, function: Callable[[Array], Array], *, either: bool = False) -> Shards:
        """Apply a function of the stack (distinct, *shape) -> (distinct, *new shape); replicas are computed once. `either` as in `combine`."""
        if shapes.active():
            return self.holding(shapes.result(function, [self.data]))
        stack = self.stack if either else self.data
        try:
            return self.holding(function(stack))
        except ValueError:
            if len(stack):
                raise
            return self.holding(shapes.result(function, [stack])[:0])


class _Bfloat16(Shards):
    """Shards whose `data` is not there yet. A class of its own, since reading a field of one with `__getattr__` takes three times as long."""

    __slots__ = ("bfloat16",)

    def __getattr__(self, name: str) -> Array:
        bfloat16 = self.bfloat16 if name == "data" else None
        if bfloat16 is None:
            found: Array = object.__getattribute__(self, name)  # which another thread has made meanwhile
            return found
        data = widen(bfloat16)
        _set_data(self, data)
        _set_bfloat16(self, None)
        return data


# What sets a field of a frozen object soonest.
_set_data, _set_index, _set_bits = (vars(Shards)[name].__set__ for name in ("data", "index", "bits"))
_set_bfloat16 = vars(_Bfloat16)["bfloat16"].__set__


def combine(function: Callable[..., Array], *operands: Shards, either: bool = False) -> Shards:
    """Apply `function(stack, stack, …)` where row k of every stack belongs to the same devices.

    Each distinct combination of shards is computed once. A device that lacks a shard in any operand holds none in the result.
    `either`: the function takes stacks in the form that is there. It may always give bfloat16 elements.
    """
    index, stacks = paired(*operands, either=either)
    if shapes.active():
        return Shards(shapes.result(function, stacks), index)
    try:
        data = function(*stacks)
    except ValueError:
        if all(map(len, stacks)):
            raise
        data = shapes.result(function, stacks)[:0]  # on a rank that hosts no device of the mesh
    if data.itemsize == 2 and data.dtype == BFLOAT16:
        return Shards.of_bfloat16(data, index)
    return Shards.unchecked(data, index) if len(data) == len(stacks[0]) else Shards(data, index)


def combine_all(
    function: Callable[..., Sequence[Array]], *operands: Shards, either: bool = False
) -> list[Shards]:
    """`combine` for a function that gives several results."""
    index, stacks = paired(*operands, either=either)
    found = shapes.result(function, stacks) if shapes.active() else function(*stacks)
    return [Shards.made(stack, index) for stack in found]


def paired(*operands: Shards, either: bool = False) -> tuple[tuple[int, ...], Sequence[Array]]:
    """Stacks whose rows k belong to the same devices, and the index of what is computed from them row by row. `either` as in `combine`."""
    first = operands[0]
    if shapes.active():
        return _held(operands), [o.data[:0] for o in operands]
    found = [o.stack for o in operands] if either else [o.data for o in operands]
    if all(o.index == first.index for o in operands):
        return first.index, found
    index, rows = _pairing(tuple(o.index for o in operands))
    return index, [_take(stack, chosen) for stack, chosen in zip(found, rows, strict=True)]


def _held(operands: Sequence[Shards]) -> tuple[int, ...]:
    """The index of a result of stacks without rows."""
    index = operands[0].index
    for other in operands[1:]:
        if other.index is not index and other.index != index:
            index = tuple(map(min, index, other.index))
    return shapes.whole(index)


@lru_cache(maxsize=1024)
def _pairing(indices: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The index of a result, and for each operand the row of its stack that each row of the result reads.

    Programs pair the same few distributions over and over.
    """
    rows: dict[tuple[int, ...], int] = {}
    index = []
    for key in zip(*indices, strict=True):
        index.append(-1 if min(key) < 0 else rows.setdefault(key, len(rows)))
    keys = list(rows)
    return tuple(index), tuple(tuple(key[i] for key in keys) for i in range(len(indices)))


def _take(data: Array, rows: tuple[int, ...]) -> Array:
    """Rows of a stack without a copy where a view can say it; of a stack without values zeros."""
    if rows and not len(data):
        return shapes.zeros((len(rows), *data.shape[1:]), data.dtype)
    if rows == tuple(range(len(data))):
        return data
    if rows and rows.count(rows[0]) == len(rows):
        return np.broadcast_to(data[rows[0]], (len(rows), *data.shape[1:]))
    return data[list(rows)]
