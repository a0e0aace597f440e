"""The buffer of a tensor whose content is under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Storage

if TYPE_CHECKING:
    from tt_run.runtime.mesh.residents import Move


class Arriving:
    """The buffer of a tensor that waits for a socket: whoever looks at the content waits for it first."""

    __slots__ = ("_buffer", "_finish")

    def __init__(self, buffer: Storage, finish: Callable[[], None]) -> None:
        self._buffer, self._finish = buffer, finish

    @property
    def buffer(self) -> Storage:
        """Where the content goes."""
        return self._buffer

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
