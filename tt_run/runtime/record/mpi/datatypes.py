"""Datatypes of a replay: where the bytes of an element lie, without the library."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tt_run.runtime.record.mpi.buffers import memory_of
from tt_run.runtime.record.mpi.calls import NotRecorded, NotRecordedMember

Block = tuple[int, int]
"""Where bytes lie, and how many."""


class Datatype:
    """A datatype by its bytes: `size` of the values, `extent` with the gaps between, `basic` of the smallest part."""

    def __init__(
        self,
        size: int,
        extent: int | None = None,
        name: str = "",
        blocks: Iterable[Block] | None = None,
        lb: int = 0,
        basic: int | None = None,
    ) -> None:
        self.size, self.extent, self.lb = size, size if extent is None else extent, lb
        self._blocks = _joined([(0, size)] if blocks is None else blocks)
        self.basic = size if basic is None else basic
        self.is_named = self.is_predefined = bool(name)
        self._global, self.name = name, name and f"MPI_{name}"

    @property
    def ub(self) -> int:
        """Where the next one begins."""
        return self.lb + self.extent

    def Get_size(self) -> int:
        """The bytes of one element's values."""
        return self.size

    def Get_extent(self) -> tuple[int, int]:
        """Where one begins, and how far the next one is."""
        return self.lb, self.extent

    def Get_true_extent(self) -> tuple[int, int]:
        """Where its first byte is, and how far its last one."""
        first = min((at for at, _ in self._blocks), default=0)
        return first, max((at + length for at, length in self._blocks), default=0) - first

    true_lb = property(lambda self: self.Get_true_extent()[0])
    true_extent = property(lambda self: self.Get_true_extent()[1])
    true_ub = property(lambda self: sum(self.Get_true_extent()))

    def Get_name(self) -> str:
        """As the library calls it."""
        return self.name

    def Set_name(self, name: str) -> None:
        """Call it otherwise."""
        self.name = name

    def Commit(self) -> Datatype:
        """Ready to be used."""
        return self

    def Free(self) -> None:
        """Nothing to give back."""

    def Dup(self) -> Datatype:
        """The same once more."""
        return Datatype(self.size, self.extent, "", self._blocks, self.lb, self.basic)

    Create_dup = Dup

    def Create_contiguous(self, count: int) -> Datatype:
        """So many, one after the other."""
        return self._of((n * self.extent for n in range(count)), count * self.extent)

    def Create_vector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """Blocks at equal distances in elements."""
        return self.Create_hvector(count, blocklength, stride * self.extent)

    def Create_hvector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """Blocks at equal distances in bytes."""
        return self.Create_hindexed([blocklength] * count, [n * stride for n in range(count)])

    def Create_indexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Datatype:
        """Blocks at places counted in elements."""
        return self.Create_hindexed(blocklengths, [d * self.extent for d in displacements])

    def Create_hindexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Datatype:
        """Blocks at places counted in bytes."""
        places = [
            int(d) + n * self.extent
            for b, d in zip(blocklengths, displacements, strict=True)
            for n in range(b)
        ]
        first = min(places, default=0)
        return self._of(places, max(places, default=0) - first + self.extent * bool(places), first)

    def Create_indexed_block(self, blocklength: int, displacements: Sequence[int]) -> Datatype:
        """Blocks of one length."""
        return self.Create_indexed([blocklength] * len(displacements), displacements)

    def Create_hindexed_block(self, blocklength: int, displacements: Sequence[int]) -> Datatype:
        """The same at places counted in bytes."""
        return self.Create_hindexed([blocklength] * len(displacements), displacements)

    def Create_subarray(
        self, sizes: Sequence[int], subsizes: Sequence[int], starts: Sequence[int], order: int = 0
    ) -> Datatype:
        """A box in an array; `order` is ORDER_C, or ORDER_FORTRAN, which is 1."""
        places = np.arange(math.prod(sizes)).reshape(sizes, order="F" if order == 1 else "C")
        box = places[tuple(slice(s, s + n) for s, n in zip(starts, subsizes, strict=True))]
        return self._of((np.sort(box, axis=None) * self.extent).tolist(), self.extent * math.prod(sizes))

    def Create_resized(self, lb: int, extent: int) -> Datatype:
        """With another distance to the next one."""
        return Datatype(self.size, extent, "", self._blocks, lb, self.basic)

    @classmethod
    def Create_struct(
        cls, blocklengths: Sequence[int], displacements: Sequence[int], datatypes: Sequence[Datatype]
    ) -> Datatype:
        """Blocks of several datatypes."""
        blocks, ends, size = [], [0], 0
        for count, at, kind in zip(blocklengths, displacements, datatypes, strict=True):
            for n in range(count):
                blocks += [(int(at) + n * kind.extent + where, length) for where, length in kind._blocks]
            ends.append(int(at) + count * kind.extent)
            size += count * kind.size
        basic = min((kind.basic for kind in datatypes), default=1)
        return Datatype(size, max(ends), "", blocks, 0, basic)

    def _of(self, places: Iterable[int], extent: int, lb: int = 0) -> Datatype:
        """One of this one at each of these places."""
        blocks = [(place + at, length) for place in places for at, length in self._blocks]
        return Datatype(sum(length for _, length in blocks), extent, "", blocks, lb, self.basic)

    def Pack_size(self, count: int, comm: Any) -> int:
        """The bytes that so many take packed."""
        return count * self.size

    def Pack(self, inbuf: Any, outbuf: Any, position: int, comm: Any) -> int:
        """Write the values into memory, one after the other; where the next ones go."""
        return self._move(inbuf, outbuf, position, packs=True)

    def Unpack(self, inbuf: Any, position: int, outbuf: Any, comm: Any) -> int:
        """Read them from there; where the next ones are."""
        return self._move(outbuf, inbuf, position, packs=False)

    def _move(self, values: Any, packed: Any, position: int, packs: bool) -> int:
        spread, dense = memory_of(values), memory_of(packed)
        assert spread is not None and dense is not None
        for n in range(len(spread) // self.extent if self.extent else 0):
            for at, length in self._blocks:
                there = spread[n * self.extent + at : n * self.extent + at + length]
                here = dense[position : position + length]
                if packs:
                    here[:] = there
                else:
                    there[:] = here
                position += length
        return position

    def __reduce__(self) -> Any:
        if not self.is_named:
            raise NotRecorded("MPI.Datatype.__reduce__")
        return self._global

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotRecordedMember(f"MPI.Datatype.{name}")


def _joined(blocks: Iterable[Block]) -> list[Block]:
    """Blocks that touch each other as one."""
    found: list[Block] = []
    for at, length in blocks:
        if found and sum(found[-1]) == at:
            found[-1] = found[-1][0], found[-1][1] + length
        elif length:
            found.append((at, length))
    return found
