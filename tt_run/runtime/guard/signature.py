"""What the ranks of a collective must agree on, and the labels under which calls appear in reports."""

from __future__ import annotations

import zlib
from types import CodeType
from typing import NamedTuple


class Signature(NamedTuple):
    """A collective as one rank calls it. Ranks agree when all fields are equal; call sites and data may differ.

    `shape` and `dtype` are those of one shard, `axis` the cluster axis, `detail` whatever else must be equal: dim, root, groups.
    """

    operation: str
    axis: int | None = None
    shape: tuple[int, ...] = ()
    dtype: str = ""
    detail: str = ""

    def __str__(self) -> str:
        parts = (
            f"shape {list(self.shape)}" if self.shape else "",
            self.dtype,
            f"cluster_axis {self.axis}" if self.axis is not None else "",
            self.detail,
        )
        return f"{self.operation}({', '.join(part for part in parts if part)})"


def code_of(signature: Signature) -> int:
    """32 bits that are equal on all ranks for equal signatures, and never 0."""
    return zlib.crc32(repr(tuple(signature)).encode()) or 1


class Call(NamedTuple):
    """A signature at a line of the user's program: `slot` is its place in this rank's labels on the board."""

    slot: int
    code: int
    signature: Signature
    site: str


class Labels:
    """The calls this rank has made, each stored once: looking one up again costs one dictionary access."""

    CAPACITY = 512  # texts kept on the board; older ones make room

    def __init__(self) -> None:
        self._calls: dict[tuple[CodeType | None, int, Signature], Call] = {}
        self._slots: list[tuple[CodeType | None, int, Signature] | None] = [None] * self.CAPACITY
        self._next = 0

    def find(self, key: tuple[CodeType | None, int, Signature]) -> Call | None:
        """The call stored under (code object, line, signature)."""
        return self._calls.get(key)

    def add(self, key: tuple[CodeType | None, int, Signature]) -> Call:
        """Store a call; the oldest one is dropped when all slots are taken."""
        code, line, signature = key
        slot, self._next = self._next, (self._next + 1) % self.CAPACITY
        previous = self._slots[slot]
        if previous is not None:
            del self._calls[previous]
        self._slots[slot] = key
        site = f"{code.co_filename}:{line}" if code is not None else "?"
        call = self._calls[key] = Call(slot, code_of(signature), signature, site)
        return call
