"""Where each rank is: published by itself, on the board for its host and in messages for other hosts, and read by whoever waits."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mgd.lean import replace
from tt_run.runtime.comm.world import Group, World
from tt_run.runtime.guard import board, states
from tt_run.runtime.guard.blocked_interpreter import seized_place
from tt_run.runtime.guard.board import ANSWERED, ASKED, CALLS, ENDED, PID, RAISED, RUNNING, STATE, WAITING
from tt_run.runtime.guard.channel import Channel
from tt_run.runtime.guard.gossip import Gossip
from tt_run.runtime.guard.long_wait import LongWait
from tt_run.runtime.guard.signature import SignedCall
from tt_run.runtime.guard.started_calls import Started
from tt_run.runtime.guard.states import RankState, Wait, group_key

if TYPE_CHECKING:
    import socket

Verdict = dict[str, Any]


class Whereabouts:
    """This rank's row and its view of the other ranks. Creating it is collective over all ranks of the job."""

    def __init__(self, world: World) -> None:
        neighbours = world.neighbours.ranks
        self._rank = world.rank
        self.ranks = world.size
        self._block = world.neighbours.shared_block(board.ROW_BYTES * len(neighbours))
        self._rows = board.rows(memoryview(self._block.memory), neighbours)
        self._mine = self._rows[world.rank]
        self._mine.words[PID] = os.getpid()
        self._gossip = Gossip(world)
        self._long = LongWait(world.rank)
        self._claim: socket.socket | None = None
        self._seized: dict[int, str] = {}
        self.words = self._mine.words
        self.started = Started(self._rows, world.rank)
        self.channels: dict[Group, Channel] = {}
        # Messages sent and receives posted on each channel "peer:channel".
        self.sent: dict[str, int] = {}
        self.posted: dict[str, int] = {}
        world.neighbours.barrier()

    def next_message(self, kind: str, peer: int, channel: str) -> int:
        """The ordinal of the next message to ("send") or from ("receive") a peer on a channel; the others see the count in records."""
        counters = self.sent if kind == "send" else self.posted
        key = f"{peer}:{channel}"
        counters[key] = counters.get(key, 0) + 1
        return counters[key]

    # --- telling -------------------------------------------------------------------------------------------------------

    def label(self, call: SignedCall) -> None:
        """Store the text of a call that is made for the first time."""
        self._mine.write_label(call.slot, str(call.signature), call.site)

    def publish(self, state: int, wait: Wait | None, call: SignedCall | None = None, **extra: object) -> None:
        """Say where this rank is, with all that a report may need."""
        fields = (
            [] if call is None or wait is None else [*map(str, call.signature.alike), str(list(wait.group))]
        )
        record = {
            "wait": None if wait is None else states.wait_to_json(wait),
            "fields": fields,
            "histories": self._histories(),
            "sent": self.sent,
            "posted": self.posted,
            **extra,
        }
        self._mine.write("record", record)
        self.words[STATE] = state
        if wait is not None:
            self._long.tell(wait, int(self.words[CALLS]))
        self._gossip.tell(state, int(self.words[CALLS]), self._mine.label(), record)

    def publish_running(self) -> None:
        """Say that this rank no longer waits."""
        self._long.over()
        self.words[STATE] = RUNNING
        self._gossip.tell_running(int(self.words[CALLS]), self._mine.label())

    def claim_verdict(self) -> bool:
        """True for the one rank of this host that is to write the report; a claim ends with its process.

        The claim is a bound name in the kernel's abstract namespace: one call decides, and nothing has to be cleaned up. Where such
        names are forbidden everybody has the claim.
        """
        if self._claim is None:
            import socket

            claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                claim.bind(f"\0{self._block.path}")
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    claim.close()
                    return False
            self._claim = claim
        return True

    def publish_verdict(self, verdict: Verdict) -> None:
        """Hand a report to all ranks that wait."""
        self._mine.write("verdict", verdict)
        self._gossip.tell_verdict(verdict)

    def answer(self, place: str, wait: Wait | None = None) -> None:
        """Answer the question where this rank is, if somebody has asked since the last time; `wait` is that of a thread that holds it up."""
        asked = self.words[ASKED]
        if asked != self.words[ANSWERED]:
            told = None if wait is None else states.wait_to_json(replace(wait, kind="message"))
            self._mine.write("answer", {"doing": place, "wait": told, "histories": self._histories()})
            self.words[ANSWERED] = asked

    @property
    def asked(self) -> bool:
        """True when somebody wants to know where this rank is."""
        return bool(self.words[ASKED] != self.words[ANSWERED])

    @property
    def last_call(self) -> str:
        """The call this rank is in or was in last, in words."""
        return self._mine.label()

    def _histories(self) -> dict[str, dict[str, tuple[str, str]]]:
        return {
            group_key(group.ranks): {str(n): (str(call.signature), call.site) for n, call in channel.history}
            for group, channel in tuple(self.channels.items())
        }

    # --- looking -------------------------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Take in what other hosts have told."""
        self._gossip.poll()

    def known(self) -> dict[int, RankState]:
        """What is known of every rank now."""
        found = {rank: RankState(rank, remote=True) for rank in range(self.ranks)}
        found |= {rank: self._read(rank, row) for rank, row in self._rows.items()}
        for rank, told in self._gossip.heard.items():
            found[rank] = states.state_from_json(
                rank, told.state, False, told.calls, told.last, told.record, remote=True
            )
        return found

    def others(self) -> list[RankState]:
        """What is known of the other ranks."""
        return [state for rank, state in self.known().items() if rank != self._rank]

    def running(self, ranks: Iterable[int]) -> bool:
        """Whether all these ranks are on this host, alive and in no long wait: only their words are read."""
        return all(
            (row := self._rows.get(rank)) is not None
            and row.words[STATE] == RUNNING
            and _alive(int(row.words[PID]))
            for rank in ranks
        )

    def processes(self, ranks: Iterable[int]) -> list[int]:
        """The processes of those ranks that are on this host."""
        return [int(self._rows[rank].words[PID]) for rank in ranks if rank in self._rows]

    def ask(self, ranks: Iterable[int]) -> None:
        """Ask ranks of this host that are in no call where they are."""
        for rank in ranks:
            if rank in self._rows:
                self._rows[rank].words[ASKED] += 1

    def have_answered(self, ranks: Iterable[int]) -> bool:
        """Whether those of them that are on this host and run have said where they are since they were asked."""
        return all(
            words[STATE] != RUNNING or words[ANSWERED] == words[ASKED] or not _alive(int(words[PID]))
            for rank in ranks
            if rank in self._rows
            for words in (self._rows[rank].words,)
        )

    def look_into(self, ranks: Iterable[int]) -> None:
        """Find out where those of them are that have not answered, and whose interpreter may be kept by a call in C."""
        for rank in ranks:
            if not self.have_answered((rank,)):
                self._seized[rank] = seized_place(rank, int(self._rows[rank].words[PID]))

    def verdict(self) -> Verdict | None:
        """The report that another rank has written, if one has."""
        for rank, row in self._rows.items():
            found = row.read("verdict") if rank != self._rank else None
            if found is not None:
                return found
        return self._gossip.verdict

    def _read(self, rank: int, row: board.BoardRow) -> RankState:
        state, pid = int(row.words[STATE]), int(row.words[PID])
        record: Mapping[str, Any] = {}
        if state != RUNNING:
            record = row.read("record") or {}
        elif row.words[ANSWERED] and row.words[ANSWERED] == row.words[ASKED]:
            record = row.read("answer") or {}
            state = WAITING if record.get("wait") else state
        elif self._seized.get(rank):
            record = {"doing": self._seized[rank]}
        lost = state not in (ENDED, RAISED) and pid != 0 and not _alive(pid)
        return states.state_from_json(
            rank, state, lost, int(row.words[CALLS]), row.label(), record, remote=False
        )


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
