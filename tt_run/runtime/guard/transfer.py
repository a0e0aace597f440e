"""Messages between two ranks that are waited for with a deadline: sockets and byte messages use them."""

from __future__ import annotations

from mgd.lean import dataclass
from tt_run.runtime.comm.group import Pending
from tt_run.runtime.guard.states import Wait


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

    def wait(self, rank: int) -> Wait:
        """What `rank`, this one, waits for until then."""
        group = tuple(sorted({rank, self.peer}))
        return Wait(
            self.kind, self.operation, self.site, group, self.number, (self.peer,), channel=self.channel
        )
