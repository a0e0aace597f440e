"""Updating parameters in place, block by block while a block is in cache.

A device updates its own copy of a parameter. Copies that are equal are stored, and updated, once; where gradients differ between devices
that held equal copies (data parallelism without synchronisation), the copies part company as they would on hardware.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels.workers import run_tasks, thread_count
from tt_run.runtime.tensor.tensor import Tensor as Value
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.memory import count_state
from tt_run.runtime.values import shapes
from tt_run.runtime.values.bfloat16 import BFLOAT16
from tt_run.runtime.values.dtypes import quantize
from tt_run.runtime.values.scratch_arrays import scratch
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.torch_rounding import narrowed

Array = npt.NDArray[Any]
Kernel = Callable[..., None]
"""`kernel(parameter, gradient, *state)` on flat float32 blocks, all but the gradient changed in place."""

BLOCK = 1 << 15


class Slot:
    """One parameter with its state arrays, each of the shape of the parameter's distinct shards.

    `states` counts the arrays; `rounded` keeps them in the parameter's type, as devices do, instead of float32: those of a bfloat16
    parameter are half as long, for they are read and written once in a step.
    """

    def __init__(self, tensor: Tensor, states: int, rounded: bool) -> None:
        self.tensor = tensor
        self.rounded = rounded
        self._seen: weakref.ref[Value] | None = None
        self._shown: weakref.WeakValueDictionary[int | None, StateTensor] = weakref.WeakValueDictionary()
        value = tensor.get_value(PreferredPrecision.FULL)
        self._kind = BFLOAT16 if rounded and value.dtype is DataType.BFLOAT16 else np.dtype(np.float32)
        self.state: list[Array] = [np.zeros(value.shards.data.shape, self._kind) for _ in range(states)]
        self.master: Array | None = None
        self._shape, self._index = value.shards.shape, value.shards.index
        self._topology = value.tensor_topology()
        for _ in range(states):
            count_state(value.shards.shape, value.dtype if rounded else DataType.FLOAT32, self)

    def step(
        self,
        kernel: Kernel,
        direction: Shards | None = None,
        draw: Generator | None = None,
        keeps: bool = True,
    ) -> None:
        """Run a kernel over the parameter; nothing happens while it has no gradient. `direction` stands in for the gradient.

        `keeps`: whether the kernel reads the state. With `draw` a bfloat16 parameter is rounded up or down by chance, as likely as it is near: every device draws the same for its shard.
        """
        if not self.tensor.is_grad_initialized():
            return
        self._require_as_made(keeps)
        self._shown.clear()
        if direction is None and draw is None and self._step_at_rest(kernel):
            return
        value = self._own()
        gradient = direction or self.tensor.get_grad().shards
        value, data, slope = self._meet(value, gradient)
        target = data if self.master is None else self.master
        kinds = [value.dtype if self.rounded else None] * len(self.state)
        last = value.dtype if self.master is None else None
        chance = None
        if draw is not None and last is DataType.BFLOAT16 and target.size:
            # One draw for a shard, whichever of them this rank holds: the same bits on any split over ranks.
            shard = draw.integers(0, 1 << 16, target[0].size, np.uint32)
            chance = np.resize(shard, target.size)
        _run(kernel, target, slope, self.state, [last, *kinds], chance)
        if self.master is not None:
            np.copyto(data, quantize(self.master, value.dtype))
        # The buffer may have been packed meanwhile, with the numbers of before.
        value.overwrite(Shards(data, value.shard_index))
        self._written(value)

    def _written(self, value: Value) -> None:
        # Assigning drops the copy in half precision that operations may have cached.
        self.tensor.set_value(value)
        self._seen = weakref.ref(value)

    def _step_at_rest(self, kernel: Kernel) -> bool:
        """A step of a parameter and a gradient that are packed, in the memory where they lie; whether they are."""
        value = self.tensor.get_value(PreferredPrecision.FULL)
        if self.master is not None or self._seen is None or self._seen() is not value:
            return False
        gradient = self.tensor.get_grad()
        own, slope = value.bits_at_rest(), gradient.bits_at_rest()
        if (
            own is None
            or slope is None
            or own.shape != slope.shape
            or value.shard_index != gradient.shard_index
        ):
            return False
        kinds = [value.dtype if self.rounded else None] * len(self.state)
        _run(kernel, own.view(BFLOAT16), slope.view(BFLOAT16), self.state, [value.dtype, *kinds])
        value.written_at_rest()
        self._written(value)
        return True

    def _require_as_made(self, keeps: bool) -> None:
        """Raises RuntimeError on a closed mesh, and for a parameter that was cut after state of its whole shape was made."""
        value = self.tensor.get_value(PreferredPrecision.NATIVE)
        device = value.device()
        if device is not None:
            device.require_open("optimizer step")
        shape = tuple(value.shape)
        if keeps and shape != self._shape and (self.state or self.master is not None):
            raise RuntimeError(
                f"the optimizer keeps state of {list(self._shape)} per device for a parameter that is {list(shape)} now; "
                "help: first ttml.fsdp.fully_shard(model) and what else cuts it, then the optimizer"
            )

    def keep_master(self) -> None:
        """Keep a float32 copy from which the parameter is rounded after each step."""
        value = self.tensor.get_value(PreferredPrecision.FULL)
        self.master = np.array(value.shards.data, np.float32)
        count_state(value.shards.shape, DataType.FLOAT32, self)

    def take_state(self, state: list[Array]) -> None:
        """Go on from state that was saved."""
        self._shown.clear()
        self.state = [array.astype(self._kind, copy=False) for array in state]

    def take_master(self, master: Array) -> None:
        """Go on from a float32 copy that was saved; the parameter, set before or after, is the rounded form of it."""
        self._shown.clear()
        self.master, self._seen = master, None

    def tensor_of(self, place: int | None) -> StateTensor:
        """The state array at a place, or the master at None, as a tensor that lies over the mesh as the parameter did when the optimizer was made.

        The same tensor until the state changes, as long as somebody holds it: a placement that a program gives it is seen when it is saved.
        """
        shown = self._shown.get(place)
        if shown is not None:
            return shown
        array = self.master if place is None else self.state[place]
        assert array is not None
        value = self.tensor.get_value(PreferredPrecision.FULL)
        dtype = value.dtype if self.rounded and place is not None else DataType.FLOAT32
        shards = Shards(np.array(array, np.float32), self._index)
        tensor = StateTensor(value.derive(shards, dtype=dtype, topology=self._topology), self, place)
        tensor.joint = self.tensor.joint
        self._shown[place] = tensor
        return tensor

    def written(self, place: int | None, tensor: Tensor) -> None:
        """Take the value that a program has set on a tensor of state."""
        array = self.array_of(tensor, "a tensor of an optimizer's state")
        if place is None:
            self.master = array
        else:
            self.state[place] = array.astype(self._kind, copy=False)

    def array_of(self, tensor: Tensor, name: str) -> Array:
        """The array of state, in float32, that a tensor holds. Raises ValueError, with both shapes, when it is not of the parameter's."""
        shards = tensor.get_value(PreferredPrecision.FULL).shards
        if shards.shape != self._shape:
            raise ValueError(
                f"{name}: saved with shape {list(shards.shape)} per device, the parameter has {list(self._shape)}; help: load it into a model of the same configuration, split over the mesh as it was"
            )
        if shards.index == self._index or shapes.active():
            return np.array(shards.data, np.float32)
        rows = [shards.index[self._index.index(row)] for row in range(max(self._index) + 1)]
        return np.array(shards.data[rows], np.float32)

    def _own(self) -> Value:
        """The parameter's value in memory that nobody else reads; a program may have set another since the last step."""
        value = self.tensor.get_value(PreferredPrecision.FULL)
        if self._seen is not None and self._seen() is value:
            return value
        shards = value.shards
        if self.master is not None and self._seen is not None:
            self.master = np.array(shards.data, np.float32)
        return value.derive(Shards(np.array(shards.data, np.float32, order="C"), shards.index))

    def _meet(self, value: Value, gradient: Shards) -> tuple[Value, Array, Array]:
        """Parameter and gradient as one stack, with the state; copies with different gradients are taken apart."""
        shards = value.shards
        alike = shards.index == gradient.index and len(shards.data) == len(gradient.data)
        if shapes.active() or alike:
            return value, shards.data, gradient.data
        rows: dict[tuple[int, int], int] = {}
        index = tuple(
            -1 if min(key) < 0 else rows.setdefault(key, len(rows))
            for key in zip(shards.index, gradient.index, strict=True)
        )
        own = [p for p, _ in rows]
        slope = gradient.data[[g for _, g in rows]]
        if own == list(range(len(shards.data))) and index == shards.index:
            return value, shards.data, slope
        self.state, self._index = [array[own] for array in self.state], index
        if self.master is not None:
            self.master = self.master[own]
        value = value.derive(Shards(shards.data[own], index))
        return value, value.shards.data, slope


class StateTensor(Tensor):
    """A tensor of an optimizer's state: what is set on it, the optimizer goes on from."""

    __slots__ = ("_place", "_slot")

    def __init__(self, value: Value, slot: Slot, place: int | None) -> None:
        super().__init__(value, False)
        self._slot, self._place = slot, place

    def set_value(self, value: Value) -> None:
        """Replace the value, here and in the optimizer. Raises ValueError, with both shapes, when it is not of the parameter's."""
        super().set_value(value)
        self._slot.written(self._place, self)

    def sibling(self, value: Value, requires_grad: bool = True) -> Tensor:  # type: ignore[override]
        """Another tensor around a value, which is nobody's state."""
        return Tensor(value, requires_grad)


def _run(
    kernel: Kernel,
    target: Array,
    gradient: Array,
    state: list[Array],
    kinds: list[Any],
    chance: Array | None = None,
) -> None:
    flat = [array.reshape(-1) for array in (target, *state)]
    slope = np.ascontiguousarray(gradient).reshape(-1)
    starts = range(0, slope.size, BLOCK)
    pieces = thread_count() if slope.size >= 4 * BLOCK else 1
    run_tasks(
        [partial(_blocks, kernel, flat, slope, starts[p::pieces], kinds, chance) for p in range(pieces)]
    )


def _blocks(
    kernel: Kernel, flat: list[Array], slope: Array, starts: range, kinds: list[Any], chance: Array | None
) -> None:
    length = min(BLOCK, slope.size)
    rooms = iter(scratch("update", len(flat) + 2, BLOCK))
    wide = [None if array.dtype == np.float32 else next(rooms)[:length] for array in flat]
    half = next(rooms)[:length].view(BFLOAT16)
    narrow = None if slope.dtype == np.float32 else next(rooms)
    for start in starts:
        views = [array[start : start + BLOCK] for array in flat]
        count = views[0].size
        blocks = [view if b is None else b[:count] for view, b in zip(views, wide, strict=True)]
        for view, block in zip(views, blocks, strict=True):
            if view is not block:
                np.copyto(block, view)
        step = slope[start : start + BLOCK]
        if narrow is not None:
            np.copyto(narrow[:count], step)
            step = narrow[:count]
        kernel(blocks[0], step, *blocks[1:])
        if chance is not None:
            _round_by_chance(blocks[0], chance[start : start + BLOCK])
        with np.errstate(all="ignore"):
            for view, block, kind in zip(views, blocks, kinds, strict=True):
                _store(block, view, kind, half[:count])


def _round_by_chance(block: Array, chance: Array) -> None:
    """float32 numbers to the bfloat16 ones beside them, in place: a number of 16 bits is added to what is cut off, and carries or not."""
    bits = block.view(np.uint32)
    finite = (bits & 0x7F800000) != 0x7F800000
    np.add(bits, chance, out=bits, where=finite)
    np.bitwise_and(bits, 0xFFFF0000, out=bits, where=finite)


def _store(block: Array, view: Array, kind: DataType | None, half: Array) -> None:
    """Numbers as a kernel left them into their array, in the form of their type; None: as they are."""
    short = narrowed(block) if kind is DataType.BFLOAT16 else None
    if short is not None:
        np.copyto(view, short)
    elif view is not block:
        np.copyto(view, block, casting="unsafe")
    elif kind is DataType.BFLOAT16:
        np.copyto(half, block, casting="unsafe")
        np.copyto(view, half)
    elif kind is not None and kind is not DataType.FLOAT32:
        view[...] = quantize(block, kind)
