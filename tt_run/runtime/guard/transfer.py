"""Messages between two ranks that are waited for with a deadline: sockets and byte messages use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tt_run.runtime.guard.states import Wait

if TYPE_CHECKING:
    from tt_run.runtime.comm.world import Pending
    from tt_run.runtime.guard.watch import Guard


@dataclass(frozen=True, eq=False)
class Transfer:
    """A send or receive in flight between this rank and `peer` (a world rank), the `number`-th of its channel.

    `operation` and `site` say which call of the user it belongs to.
    """

    pending: Pending
    kind: str  # "send" or "receive"
    peer: int
    channel: str
    number: int
    operation: str
    site: str

    def test(self) -> bool:
        """True once it has completed."""
        return self.pending.test()


def count(guard: Guard | None, kind: str, peer: int, channel: str) -> int:
    """The ordinal of the next message to or from a peer on a channel; the others see the count in records."""
    if guard is None:
        return 0
    counters = guard.whereabouts.sent if kind == "send" else guard.whereabouts.posted
    key = f"{peer}:{channel}"
    counters[key] = counters.get(key, 0) + 1
    return counters[key]


def wait_for(guard: Guard, transfer: Transfer) -> None:
    """Return when the message has gone through; GuardError when it cannot."""

    def wait() -> Wait:
        group = tuple(sorted({guard.rank, transfer.peer}))
        return Wait(
            transfer.kind,
            transfer.operation,
            transfer.site,
            group,
            transfer.number,
            (transfer.peer,),
            channel=transfer.channel,
        )

    guard.wait_until(transfer.test, wait)
