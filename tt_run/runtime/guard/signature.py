"""What the ranks of a collective must agree on."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Signature:
    """A collective as one rank calls it. Ranks agree when all fields are equal; call sites and data may differ.

    `shape` and `dtype` are those of one shard, `axis` the cluster axis, `detail` whatever else must be equal: dim, root, groups.
    """

    operation: str
    axis: int | None = None
    shape: tuple[int, ...] = ()
    dtype: str = ""
    detail: str = ""

    def __str__(self) -> str:
        parts = [
            f"shape {list(self.shape)}" if self.shape else "",
            self.dtype,
            f"cluster_axis {self.axis}" if self.axis is not None else "",
            self.detail,
        ]
        inside = ", ".join(part for part in parts if part)
        return f"{self.operation}({inside})"

    def differences(self, other: Signature) -> tuple[str, ...]:
        """The names of the fields in which two signatures differ; only `operation` when that one does."""
        if self.operation != other.operation:
            return ("operation",)
        return tuple(
            name
            for name in ("axis", "shape", "dtype", "detail")
            if getattr(self, name) != getattr(other, name)
        )


@lru_cache(maxsize=4096)
def code(signature: Signature) -> int:
    """32 bits that are equal on all ranks for equal signatures, and never 0."""
    return zlib.crc32(repr(signature).encode()) or 1
