"""News between hosts: a rank that waits, ends or fails tells the ranks that cannot see its part of the board.

Messages on a communicator of their own, received whenever somebody waits. On a job of one host nothing is ever sent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from mgd.lean import dataclass
from tt_run.runtime.guard.board import RUNNING

if TYPE_CHECKING:
    from tt_run.runtime.comm.world import Pending, World

_TAG = 7


@dataclass(frozen=True, slots=True)
class News:
    """The last news of a rank on another host."""

    state: int
    calls: int
    last: str
    record: dict[str, Any]


class Gossip:
    """What the ranks on other hosts have told, by rank, and a verdict if one of them has concluded."""

    def __init__(self, world: World) -> None:
        self._world = world
        here = world.peers[world.rank].host
        self._remote = tuple(peer.rank for peer in world.peers if peer.host != here)
        self._pending: list[Pending] = []
        self._last = ""
        self.heard: dict[int, News] = {}
        self.verdict: dict[str, object] | None = None

    def tell(self, state: int, calls: int, last: str, record: dict[str, Any]) -> None:
        """Tell where this rank is, unless it was said already."""
        if not self._remote:
            return
        wait = record.get("wait")
        waits = wait and (wait["generation"], wait["missing"], record.get("still"))
        said = json.dumps([state, calls, waits, record.get("error")])
        if said != self._last:
            self._last = said
            self._send({"news": [state, calls, last, record]})

    def tell_running(self, calls: int, last: str) -> None:
        """Take back that this rank waits, if it has told so."""
        if self._last:
            self._last = ""
            self._send({"news": [RUNNING, calls, last, {}]})

    def tell_verdict(self, verdict: dict[str, object]) -> None:
        """Hand a report to the other hosts."""
        if self._remote:
            self._send({"verdict": verdict})

    def poll(self) -> None:
        """Take in what has arrived."""
        if not self._remote:
            return
        self._pending = [pending for pending in self._pending if not pending.test()]
        for source, data in self._world.control.arrived(_TAG):
            message = json.loads(data)
            if "verdict" in message:
                self.verdict = message["verdict"]
            else:
                self.heard[source] = News(*message["news"])

    def _send(self, message: dict[str, object]) -> None:
        data = np.frombuffer(json.dumps(message).encode(), np.uint8)
        self._pending += [self._world.control.isend(data, rank, _TAG) for rank in self._remote]
