"""What the ranks of a collective must agree on, and the labels under which calls appear in reports."""

from __future__ import annotations

import zlib
from types import CodeType, FrameType
from typing import NamedTuple

OWN_MPI = "MPI "
"""How operations begin that a program makes with mpi4py itself."""
COMPOSED = "composed "
"""How the part of a detail begins that says what becomes of shards: a rank may help to read them and make nothing of them."""
SENT = "sends "
"""How the part of a detail begins that says what this rank alone gives, in bytes: of no concern to whether ranks agree."""
LEFT_OPEN = ("bytes ", "element ", "counts ", "split_type ", COMPOSED)
"""How parts of details begin that a rank may leave out: also a size that cannot be told, the kind of a split in which it takes no part."""


class Signature(NamedTuple):
    """A collective as one rank calls it. Ranks agree when all fields are equal; call sites and data may differ.

    `shape` and `dtype` are those of one shard, `axis` the cluster axis, `detail` whatever else must be equal: dim, root, groups.
    """

    operation: str
    axis: int | None = None
    shape: tuple[int, ...] = ()
    dtype: str = ""
    detail: str = ""

    @property
    def alike(self) -> Signature:
        """What all ranks must say, without what this one alone gives."""
        if SENT not in self.detail:
            return self
        items = self.detail.split(", ")
        return self._replace(detail=", ".join(item for item in items if not item.startswith(SENT)))

    @property
    def firm(self) -> int:
        """The code of what no rank may leave open."""
        open_ = LEFT_OPEN if self.operation.startswith(OWN_MPI) else (COMPOSED,)
        items = self.alike.detail.split(", ")
        return code_of(self._replace(detail=", ".join(i for i in items if not i.startswith(open_))))

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
    return zlib.crc32(repr(tuple(signature.alike)).encode()) or 1


class SignedCall(NamedTuple):
    """A signature at a line of the user's program: `slot` is its place in this rank's labels on the board."""

    slot: int
    code: int
    signature: Signature
    site: str
    function: CodeType | None


# A code object by identity, which is sooner than its hash (a call keeps its own alive), the instruction, and the signature.
Key = tuple[int, int, Signature]


class Labels:
    """The calls this rank has made, each stored once: looking one up again costs one dictionary access."""

    CAPACITY = 512  # texts kept on the board; older ones make room

    def __init__(self) -> None:
        self.calls: dict[Key, SignedCall] = {}
        self._slots: list[Key | None] = [None] * self.CAPACITY
        self._next = 0

    def add(self, frame: FrameType | None, signature: Signature) -> SignedCall:
        """Store a call from a frame of the user's program; the oldest one is dropped when all slots are taken."""
        slot, self._next = self._next, (self._next + 1) % self.CAPACITY
        previous = self._slots[slot]
        if previous is not None:
            del self.calls[previous]
        function, instruction, site = None, 0, "?"
        if frame is not None:
            function, instruction = frame.f_code, frame.f_lasti
            site = f"{function.co_filename}:{frame.f_lineno}"
        key = self._slots[slot] = (id(function), instruction, signature)
        call = self.calls[key] = SignedCall(slot, code_of(signature), signature, site, function)
        return call
