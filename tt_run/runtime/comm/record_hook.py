"""Where collectives tell a record what they are about to do: None, unless the run is recorded or replayed.

Messages between ranks pass through groups, which another `World` replaces. A collective inside a host passes through memory that its
ranks share, and its result is less than what it moved: it is kept as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class CollectiveRecorder(Protocol):
    """Who writes down, or answers."""

    def collective(self, plan: Any, tensor: Any, work: Callable[[], list[Any]]) -> list[Any]:
        """What each exchange of this rank gives; `work` makes the call."""
        ...

    def gathered(self, plan: Any, tensor: Any, work: Callable[[], dict[int, Any]]) -> dict[int, Any]:
        """The shards by position that one part of a collective gathers."""
        ...

    def entered(self, plan: Any, tensor: Any) -> None:
        """A collective whose data moves in messages."""
        ...


keeper: CollectiveRecorder | None = None
