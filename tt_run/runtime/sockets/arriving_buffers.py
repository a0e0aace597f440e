"""The buffer of a tensor whose content is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Storage

if TYPE_CHECKING:
    from tt_run.runtime.mesh.residents import Move


class Settling(Protocol):
    """What comes: shards, or None where it has written into the buffer itself."""

    value: Any

    def settle(self) -> Any: ...
    @property
    def missing(self) -> bool: ...


class Arriving:
    """The buffer of a tensor that waits for a socket: whoever looks at the content waits for it first."""

    __slots__ = ("_buffer", "awaited")

    def __init__(self, buffer: Storage, awaited: Settling) -> None:
        self._buffer = buffer
        self.awaited: Settling | None = awaited

    @property
    def buffer(self) -> Storage:
        """Where the content goes."""
        return self._buffer

    def _finish(self) -> None:
        if self.awaited is not None:
            shards = self.awaited.settle()
            self.awaited = None
            if shards is not None and self._buffer.allocated and self._buffer.shards is not shards:
                self._buffer.write(shards)

    @property
    def shards(self) -> Shards:
        """The content, once it is there."""
        self._finish()
        return self._buffer.shards

    @property
    def allocated(self) -> bool:
        """Whether the buffer is still there."""
        return self._buffer.allocated

    def write(self, shards: Shards) -> None:
        """Replace the content after what was to arrive before."""
        self._finish()
        self._buffer.write(shards)

    def free(self) -> None:
        """Give the buffer back; what arrives later is dropped."""
        self._buffer.free()

    def follow(self, move: Move) -> None:
        """Take what was sent to the devices where they were, then stay with them after a reshape of the mesh."""
        self._finish()
        move.once(self._buffer, lambda: self._buffer.follow(move))
