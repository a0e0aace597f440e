"""Host tensors with padding of their own: `Tensor.pad` leaves the logical shape and puts a larger array under it.

The logical part begins at the array's origin, wherever the padding placed the old elements: what `pad` moved beyond the logical shape
is seen again by `unpad`. Source: reference library 0.81.1.
"""

from __future__ import annotations

import numpy as np

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal, read_to_host, throw
from tt_run.runtime.native.classes import native
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import whole_tiles
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, convert, convert_each
from tt_run.runtime.values.shards import Array, Shards
from tt_run.runtime.values.storage import Buffer


@native("ttnn._ttnn.tensor.Tensor")
class Framed(Tensor):
    """A host tensor whose padded shape is the shape of `frame`, the array it lies in."""

    __slots__ = ("_frame",)
    _own_padding = True
    _frame: Shards

    @property
    def frame(self) -> Shards:
        """All elements, padding included."""
        return self._frame

    @property
    def padded_shape(self) -> Shape:
        """Shape of one shard with its padding."""
        return Shape(self._frame.shape)


@native("ttnn._ttnn.tensor.Tensor")
class Filled(Tensor):
    """A tensor whose padding an operation filled with a value, perhaps up to a shape of its own."""

    __slots__ = ("_extent", "_filler")
    _own_padding = True
    _extent: tuple[int, ...]
    _filler: float

    @property
    def filler(self) -> float:
        """What stands in the padding."""
        return self._filler

    @property
    def padded_shape(self) -> Shape:
        """Shape of one shard with its padding."""
        return Shape(self._extent)

    def alias(self) -> Tensor:
        """Another tensor over the same buffer, padding included."""
        made = filled_as(super().alias(), self)
        if isinstance(self.storage, Buffer):
            self.storage.share(self, made)
        return made

    def _take(self, other: Tensor) -> None:
        super()._take(other)
        if isinstance(other, Filled):
            self._extent, self._filler = other._extent, other._filler


def fill_padding(tensor: Tensor, value: float, extent: tuple[int, ...] | None = None) -> Tensor:
    """The tensor with `value` for its padding, which reaches up to `extent`; by default as far as its layout pads it."""
    extent = extent or tuple(tensor.padded_shape)
    if extent == tuple(tensor.shape):
        return tensor
    made: Filled = object.__new__(Filled)
    made._take(tensor)
    made._extent, made._filler = extent, value
    return made


def filled_as(tensor: Tensor, like: Tensor) -> Tensor:
    """`tensor`, which holds the elements of `like` elsewhere, with the padding that `like` has."""
    return fill_padding(tensor, like.filler, tuple(like.padded_shape)) if isinstance(like, Filled) else tensor


def frame_of(tensor: Tensor) -> Shards:
    """The elements of a tensor with its padding; what a tile adds is zero unless an operation filled it."""
    if isinstance(tensor, Framed):
        return tensor.frame
    if isinstance(tensor, Filled):
        filler = convert(np.full((1,), tensor.filler, np.float32), tensor.dtype)[0]
        return tensor.shards.map(lambda stack: _placed(stack, tuple(tensor.padded_shape), None, filler))
    if tensor.layout is not Layout.TILE or tensor.shape == tensor.padded_shape:
        return tensor.shards
    return tensor.shards.map(lambda stack: _placed(stack, tuple(tensor.padded_shape), None, 0))


def embed(tensor: Tensor, shape: tuple[int, ...], starts: tuple[int, ...], value: float) -> Tensor:
    """A host tensor in an array of `shape` that is `value` elsewhere. Raises RuntimeError on a device or when it does not fit."""
    _on_host(tensor, "pad")
    old = tuple(tensor.shape)
    if len(shape) == len(old) > len(starts):
        rank = len(starts)
        raise throw(
            f"ShapeBase[] index out of range. {rank} not in [-{max(4, rank)}, {rank})",
            hint=f"give a start for each of the {len(old)} dimensions",
        )
    if not len(shape) == len(starts) == len(old) or any(
        s < 0 or s + n > m for s, n, m in zip(starts, old, shape, strict=True)
    ):
        raise fatal(
            f"Tensor of shape {tensor.shape} does not fit at {list(starts)} into shape {list(shape)}",
            hint="each start plus the tensor's length stays within the new shape, one number for each dimension",
        )
    filler = convert(np.full((1,), value, np.float32), tensor.dtype)[0]
    frame = tensor.shards.map(lambda stack: _placed(stack, shape, starts, filler))
    if shape == old:
        return tensor.derive(frame)
    logical = _rounded(tensor, frame.map(lambda stack: stack[tuple(map(slice, (None, *old)))].copy()))
    plain = tensor.derive(logical)
    framed: Framed = object.__new__(Framed)
    framed._take(plain)
    framed._frame = frame
    return framed


def _placed(stack: Array, shape: tuple[int, ...], starts: tuple[int, ...] | None, filler: object) -> Array:
    out = np.full((len(stack), *shape), filler, stack.dtype)
    starts = starts or (0,) * len(shape)
    where = (slice(None), *(slice(s, s + n) for s, n in zip(starts, stack.shape[1:], strict=True)))
    out[where] = stack
    return out


def crop(tensor: Tensor, starts: tuple[int, ...], ends: tuple[int, ...]) -> Tensor:
    """The part of a host tensor, padding included, from `starts` up to `ends`, excluded. Raises RuntimeError on a device or outside of it."""
    _on_host(tensor, "unpad")
    frame = frame_of(tensor)
    if not len(starts) == len(ends) == len(frame.shape) or any(
        not 0 <= s <= e <= n for s, e, n in zip(starts, ends, frame.shape, strict=True)
    ):
        raise fatal(
            f"Range {list(starts)} to {list(ends)} is not inside a tensor of shape {tensor.padded_shape}",
            hint="start and end are 0 up to the length, one of each for each dimension",
        )
    where = (slice(None), *(slice(s, e) for s, e in zip(starts, ends, strict=True)))
    part = _rounded(tensor, frame.map(lambda stack: stack[where].copy()))
    return Tensor.of(
        part,
        dtype=tensor.dtype,
        layout=tensor.layout,
        topology=tensor.tensor_topology(),
        memory_config=tensor.memory_config(),
        tile=tensor.tile,
        site=tensor.site,
    )


def _rounded(tensor: Tensor, shards: Shards) -> Shards:
    if tensor.dtype not in BLOCK_FLOATS:
        return shards
    return shards.map(lambda stack: convert_each(stack, tensor.dtype))


def tile_multiple(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with its last two dimensions rounded up to the tile."""
    return (*shape[:-2], *(whole_tiles(length) for length in shape[-2:]))


def _on_host(tensor: Tensor, what: str) -> None:
    if tensor.device() is not None:
        raise fatal(
            f"Tensor.{what} needs a tensor in host memory; call ttnn.from_device first",
            hint=read_to_host("tensor"),
        )
