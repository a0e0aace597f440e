"""Buffers: the mutable cells behind tensors.

A tensor is a value, a buffer is a place: traces replay into the same places, optional outputs and host-to-device copies write
into them, `deallocate` takes them away. Every write replaces the shards as a whole, so an array that was read stays as it was.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from tt_run.runtime.errors import throw
from tt_run.runtime.values.at_rest import SMALLEST, dense
from tt_run.runtime.values.packing import Packed, pack, unpack
from tt_run.runtime.values.shards import Shards, combine

if TYPE_CHECKING:
    from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
    from tt_run.runtime.mesh.residents import Move

Array = npt.NDArray[Any]
Refs = tuple[weakref.ref[object], ...]
Seen = Callable[[Array], Array]
"""How elements that lie where they are get another shape, or a part of them is seen: a stack of shards to a view of it."""

GONE = "Tensor is not allocated."
GONE_HINT = (
    "its buffer was given back by deallocate(), of it or of what reshape, squeeze, … made of it without moving it: "
    "read or copy the tensor before that, or keep it allocated"
)


class Storage(Protocol):
    """What a tensor keeps: shards that can be read, replaced and given back."""

    @property
    def shards(self) -> Shards: ...
    @property
    def allocated(self) -> bool: ...
    def write(self, shards: Shards) -> None: ...
    def free(self) -> None: ...
    def follow(self, move: Move) -> None: ...


class Place:
    """Where a buffer lies on the devices: of one buffer alone, or also of what an operation made of it without moving anything.

    Of the latter, `owner` is the buffer that was there first. As in reference library 0.81.1, it goes when one of the others is given back by
    force; they stay readable when it goes. Every buffer has one and few are shared, so an unshared one holds nothing.
    """

    __slots__ = ("__weakref__", "_owner", "_shape", "_sharers", "_views", "_whole", "address")
    address: int
    """Where it begins; only there once somebody has asked."""
    _owner: weakref.ref[Buffer]
    _views: list[weakref.ref[Buffer]]
    """The buffers over these bytes, the first one first."""
    _sharers: Refs
    _shape: tuple[int, ...]
    """The shape of a shard of the first one."""
    _whole: Shards
    """What the first one holds, where a buffer sees a part of it."""

    @property
    def owner(self) -> Buffer | None:
        """The buffer that was there first; None for an unshared place, and once it is gone."""
        found = getattr(self, "_owner", None)
        return found if found is None else found()

    @property
    def sharers(self) -> Refs:
        """The tensors over it, if there is more than one."""
        return getattr(self, "_sharers", ())

    def share(self, owner: Buffer, *tensors: object) -> None:
        """Note tensors over these bytes, which `owner` has held first unless another is known."""
        if not hasattr(self, "_owner"):
            self._owner = weakref.ref(owner)
        self._sharers = _with_refs(self.sharers, tensors)

    def look(self, at: Buffer, buffer: Buffer, seen: Seen) -> None:
        """Note a buffer that sees what another one holds: from now on each has what is written into the other."""
        whole = at.shards
        if not hasattr(self, "_views"):
            self._views = [weakref.ref(at)]
            self._shape = whole.shape
        views = self._views
        if len(views) > _MANY and not len(views) & (len(views) - 1):
            views[:] = [ref for ref in views if ref() is not None]
        views.append(weakref.ref(buffer))
        if self._is_whole(buffer.shards):
            shape = buffer.shards.shape
            buffer.seen = lambda stack: stack.reshape(len(stack), *shape)
            return
        before = at.seen
        buffer.seen = seen if before is None else lambda stack: seen(before(stack))
        if not hasattr(self, "_whole"):
            self._whole = self._reshaped(whole)

    def written(self, by: Buffer, shards: Shards) -> None:
        """Let the other buffers over these bytes see what was written into one of them."""
        others = [one for ref in self._views if (one := ref()) is not None and one is not by]
        if not others:
            return
        if self._is_whole(shards):
            whole = self._reshaped(shards)
        else:
            own = by.seen or _as_it_is
            whole = combine(lambda old, new: _with_part(old, own, new), self._whole, shards)
        if hasattr(self, "_whole"):
            self._whole = whole
        for one in others:
            if one.allocated:
                seen = whole if one.seen is None else Shards.unchecked(one.seen(whole.data), whole.index)
                one.hold(seen)

    def _is_whole(self, shards: Shards) -> bool:
        return math.prod(shards.shape) == math.prod(self._shape)

    def _reshaped(self, shards: Shards) -> Shards:
        return Shards.unchecked(shards.data.reshape(len(shards.data), *self._shape), shards.index)


_MANY = 8
"""Views from which on those that are gone are forgotten."""


def _with_refs(refs: Refs, tensors: tuple[object, ...]) -> Refs:
    """References to the tensors, behind those to others that still live."""
    known = {*map(id, tensors)}
    others = [ref for ref in refs if (one := ref()) is not None and id(one) not in known]
    return (*others, *map(weakref.ref, tensors))


def _as_it_is(stack: Array) -> Array:
    return stack


def _with_part(whole: Array, seen: Seen, part: Array) -> Array:
    made = whole.copy()
    seen(made)[...] = part
    return made


class Buffer:
    """The shards of one tensor on this rank's devices."""

    __slots__ = ("__weakref__", "_packed", "_shards", "_sharers", "lasting", "place", "seen", "writes")
    lasting: bool
    """Whether it holds what came from the host, as weights do, and nothing was written into it since: other ranks may hold the same."""
    seen: Seen | None
    """How it sees what the first buffer over its bytes holds, where it is not that."""
    freed: ClassVar[Callable[[Buffer], None] | None] = None
    """Called with every buffer that a program gives back, while somebody counts memory."""
    stay: ClassVar[bool] = False
    """Whether nothing is given back: what is replayed was at its capture, and a replay reads where it lay."""

    def __init__(self, shards: Shards, place: Place | None = None, lasting: bool = False) -> None:
        self._shards: Shards | None = shards
        self.lasting = lasting
        self.place = place or Place()
        self.seen = None
        self._packed: tuple[Packed, tuple[int, ...]] | None = None
        self.writes = 0
        if shards.stack.nbytes >= SMALLEST:
            dense.used(self, _bytes_of(shards))
        self._sharers: Refs = ()

    @property
    def shards(self) -> Shards:
        """The content. Raises RuntimeError once freed."""
        shards = self._shards
        if shards is None:
            if self._packed is None:
                raise throw(GONE, hint=GONE_HINT)
            packed, index = self._packed
            # The packed form stays: nothing writes into shards, so it need not be made a second time.
            shards = self._shards = Shards.unchecked(unpack(packed), index)
        if shards.stack.nbytes >= SMALLEST:
            dense.used(self, _bytes_of(shards))
        return shards

    @property
    def index(self) -> tuple[int, ...]:
        """The index of the shards, for which nothing is unpacked. Raises RuntimeError once freed."""
        if self._shards is None and self._packed is not None:
            return self._packed[1]
        return self.shards.index

    @property
    def bits(self) -> Array | None:
        """The 16 bits of each number of the stack, in its shape, where they are at hand: a packed bfloat16 buffer's own memory."""
        if self._packed is not None:
            packed = self._packed[0]
            return None if packed.exponents is not None else packed.elements.reshape(packed.shape)
        shards = self._shards
        if shards is None:
            return None
        short = shards.bfloat16
        return shards.bits if short is None else short.view(np.uint16)

    def hold_bits(self) -> None:
        """Have what was written into `bits` as the content: only what was written before has bits that nobody else has."""
        self.pack()
        self._shards = None
        self.writes += 1
        dense.forget(id(self))

    def pack_away(self) -> None:
        """Pack it though there is room, if it counts."""
        if self._shards is not None and self._shards.stack.nbytes >= SMALLEST and self.pack():
            dense.forget(id(self))

    @property
    def has_views(self) -> bool:
        """Whether other buffers see what this one holds."""
        return hasattr(self.place, "_views")

    def pack(self) -> bool:
        """Keep the content in as few bytes as it takes; the next reader gets the same bits. Whether there is such a form."""
        shards = self._shards
        if self._packed is None and shards is not None:
            bits = self.bits
            packed = (
                pack(shards.data, smallest=not dense.is_tight)
                if bits is None
                else Packed(bits.shape, bits.reshape(-1))
            )
            if packed is not None and self.lasting:
                from tt_run.runtime.values.shared_packs import shared

                packed = shared(packed)
            self._packed = None if packed is None else (packed, shards.index)
        if self._packed is None:
            return False
        self._shards = None
        return True

    @property
    def allocated(self) -> bool:
        """False once freed."""
        return self._shards is not None or self._packed is not None

    def write(self, shards: Shards) -> None:
        """Replace the content. Raises RuntimeError once freed."""
        if not self.allocated:
            raise throw(GONE, hint=GONE_HINT)
        self.hold(shards)
        if hasattr(self.place, "_views"):
            self.place.written(self, shards)

    def hold(self, shards: Shards) -> None:
        """Have these as the content; `write` tells the other buffers in this place."""
        # Whoever has changed the numbers in their own memory has not changed the bits that were kept of them, and `hold_bits` needs some
        # that nobody else has.
        data = shards.data
        self._shards = shards if shards.bits is None else Shards.unchecked(data, shards.index)
        self._packed, self.lasting = None, False
        self.writes += 1
        if data.nbytes >= SMALLEST:
            dense.used(self, _bytes_of(shards))

    def free(self) -> None:
        """Give the memory back; later reads raise."""
        if Buffer.stay:
            return
        for buffer in (self, self.place.owner or self):
            buffer._shards = buffer._packed = None
            dense.forget(id(buffer))
        if Buffer.freed is not None:
            Buffer.freed(self)

    def share(self, *tensors: object) -> None:
        """Note tensors that are the same value in this place, as an operation that changes nothing returns one."""
        self._sharers = _with_refs(self._sharers, tensors)

    def shared_beside(self, tensor: object) -> bool:
        """Whether a tensor other than this one shares the buffer and is still alive."""
        refs = [*self._sharers, *self.place.sharers]
        for each in getattr(self.place, "_views", ()):
            buffer = each()
            refs.extend(() if buffer is None else buffer._sharers)
        sharers = (ref() for ref in refs)
        return any(sharer is not None and sharer is not tensor for sharer in sharers)

    def seen_as(self, buffer: Buffer, seen: Seen, *tensors: object) -> None:
        """Note tensors over these bytes, of which one is new: its buffer sees what this one holds, in another shape or a part of it."""
        self.place.share(self, *tensors)
        self.place.look(self, buffer, seen)

    def follow(self, move: Move) -> None:
        """Count the devices anew after a reshape of the mesh; nothing happens once freed."""
        if self.allocated:
            shards = self.shards
            self.write(shards.placed(tuple(shards.index[i] for i in move.order)))


def _bytes_of(shards: Shards) -> int:
    """Bytes of a stack's own once it is read in float32: none of a view that shows one number everywhere."""
    short = shards.bfloat16
    if short is not None:
        return 2 * short.nbytes
    return shards.data.nbytes if any(shards.data.strides) else 0


class BufferPart:
    """The shard of one device inside another tensor's buffer; it sees what is written there later.

    `whole` is that buffer, `device` the number of the local device, None for one of another rank, `coord` its place on the mesh.
    """

    __slots__ = ("_device", "coord", "whole")

    def __init__(self, whole: Storage, device: int | None, coord: MeshCoordinate) -> None:
        self.whole, self._device, self.coord = whole, device, coord

    def of(self, whole: Storage) -> BufferPart:
        """The same device's shard inside another buffer."""
        return BufferPart(whole, self._device, self.coord)

    @property
    def is_local(self) -> bool:
        """Whether this rank holds the device."""
        return self._device is not None

    @property
    def shards(self) -> Shards:
        """The parent's shards, all but one device masked out."""
        shards = self.whole.shards
        row = -1 if self._device is None else shards.index[self._device]
        index = tuple(0 if i == self._device and row >= 0 else -1 for i in range(len(shards.index)))
        return Shards(shards.data[row : row + 1] if row >= 0 else shards.data[:0], index)

    @property
    def allocated(self) -> bool:
        """Whether the parent's buffer is still there."""
        return self.whole.allocated

    def write(self, shards: Shards) -> None:
        """Replace this device's shard in the parent's buffer; nothing happens for a device of another rank."""
        if self._device is None:
            return
        arrays = self.whole.shards.each()
        arrays[self._device] = shards.of(self._device)
        self.whole.write(Shards.from_each(arrays, like=self.whole.shards.data))

    def follow(self, move: Move) -> None:
        """Stay with the device after a reshape of the mesh, and the whole buffer with it."""
        if self._device is not None:
            self._device = move.order.index(self._device)
        self.coord = move.coords.get(self.coord, self.coord)
        move.once(self.whole, lambda: self.whole.follow(move))

    def free(self) -> None:
        """Give back the parent's buffer: the devices of a mesh tensor share one allocation."""
        self.whole.free()
