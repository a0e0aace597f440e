"""The guard of this rank: publishes where it is, waits with a deadline, looks at the others, raises one report on all ranks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from tt_run.runtime.comm import Group, World
from tt_run.runtime.guard import board, diagnosis, states
from tt_run.runtime.guard.board import (
    ANSWERED,
    ASKED,
    CALLS,
    ENDED,
    LABEL,
    PID,
    RAISED,
    RUNNING,
    STATE,
    WAITING,
)
from tt_run.runtime.guard.channel import Channel, MessageChannel, SharedChannel
from tt_run.runtime.guard.gossip import Gossip
from tt_run.runtime.guard.joining import join
from tt_run.runtime.guard.report import GuardError, render
from tt_run.runtime.guard.signature import Call, Labels, Signature
from tt_run.runtime.guard.states import RankState, Wait, group_key

_SPINS = 400  # looks before the processor is offered to others
_YIELD_SECONDS = 0.002  # then this long with the processor offered between looks
_NAPS = (0.0001, 0.001)  # then naps, growing from the first to the second
_INSPECT_SECONDS = 0.05  # how often a long wait looks at the other ranks
_ANSWER_SECONDS = 0.5  # before the deadline, ranks that run are asked where they are
_VERDICT_SECONDS = 1.0  # how long the others leave it to one rank to write the report
_now = time.perf_counter


class Guard:
    """One per process with several ranks. Creating it is collective over all ranks of the job."""

    def __init__(self, world: World, timeout: float) -> None:
        self.world = world
        self.rank = world.rank
        self.timeout = timeout
        self.labels = Labels()
        self.channels: dict[Group, Channel] = {}
        self.progress: list[Callable[[], object]] = []
        self.sent: dict[str, int] = {}
        self.posted: dict[str, int] = {}
        self.error: GuardError | None = None
        neighbours = world.neighbours.ranks
        block = world.neighbours.shared_block(board.ROW_BYTES * len(neighbours))
        self._block = block
        self.rows = board.rows(memoryview(block.memory), neighbours)
        self.mine = self.rows[self.rank]
        self.mine.words[PID] = os.getpid()
        self.gossip = Gossip(world)
        self._generation = 0
        self._crowded = len(neighbours) > (os.cpu_count() or 1)
        world.neighbours.barrier()

    # --- the hot path --------------------------------------------------------------------------------------------------

    def collective(self, group: Group, signature: Signature, frame: FrameType | None) -> None:
        """Return when all ranks of the group are here with the same signature; GuardError otherwise."""
        if self.error is not None:
            raise GuardError(str(self.error), self.error.code, self.error.culprits)
        key = (frame.f_code, frame.f_lineno, signature) if frame is not None else (None, 0, signature)
        call = self.labels.find(key)
        if call is None:
            call = self.labels.add(key)
            self.mine.write_label(call.slot, f"{call.signature} at {call.site}")
        channel = self.channels.get(group)
        if channel is None:
            channel = self._join(group, call)
        words = self.mine.words
        words[LABEL] = call.slot
        words[CALLS] += 1
        word = channel.announce(call)
        if isinstance(channel, SharedChannel) and channel.spin(
            word, 0 if self._crowded else _SPINS, _nothing
        ):
            return
        self._meet(channel, word, call)

    def _meet(self, channel: Channel, word: int, call: Call) -> None:
        """The slow part of a collective: offer the processor, then nap, watching the others."""

        def done() -> bool:
            return channel.agrees(word) or channel.differs(word)

        def wait() -> Wait:
            ranks, missing = channel.group.ranks, channel.missing(word)
            return self.wait_record(
                "collective", str(call.signature), call.site, ranks, channel.number, missing
            )

        self.wait_until(done, wait, call)
        if channel.differs(word):
            self.diverged(channel.group.ranks, channel.number, call)

    def _join(self, group: Group, call: Call) -> Channel:
        """The first call of a group: create its communicator and channel once all members are known to come."""
        join(self, group, call)
        group.connect()
        channel: Channel = SharedChannel(group) if group.on_one_host else MessageChannel(group)
        self.channels[group] = channel
        return channel

    # --- waiting -------------------------------------------------------------------------------------------------------

    def wait_until(
        self, done: Callable[[], bool], wait: Callable[[], Wait], call: Call | None = None
    ) -> None:
        """Return when `done()`. A long wait is published as `wait()`; it ends in a GuardError when it cannot succeed.

        `call` adds its signature's fields to what is published.
        """
        began = _now()
        while _now() - began < _YIELD_SECONDS:
            if done():
                return
            os.sched_yield()
        self._generation += 1
        nap, inspected, asked = _NAPS[0], 0.0, False
        suspicion: diagnosis.Finding | None = None
        suspected = 0.0
        try:
            while not done():
                time.sleep(nap)
                nap = min(nap * 1.5, _NAPS[1])
                self._make_progress()
                now = _now()
                if now - inspected < _INSPECT_SECONDS:
                    continue
                inspected = now
                current = wait()
                current = Wait(
                    **{
                        **states.wait_to_json(current),
                        "since": began,
                        "checked": now,
                        "generation": self._generation,
                    }
                )
                self._publish(WAITING, current, call)
                self._read_verdict()
                if not asked and now - began > self.timeout - _ANSWER_SECONDS:
                    self._ask(current.missing)
                    asked = True
                finding = self._inspect(suspicion, suspected, now - began > self.timeout)
                if finding is not None and (suspicion is None or finding.culprits != suspicion.culprits):
                    suspicion, suspected = finding, now
        finally:
            if self.error is None:
                self.mine.words[STATE] = RUNNING
                self.gossip.tell_running(int(self.mine.words[CALLS]), self.mine.label())

    def _inspect(
        self, suspicion: diagnosis.Finding | None, suspected: float, late: bool
    ) -> diagnosis.Finding | None:
        """Look at all ranks; raise what is certain, return a suspicion that has to be seen twice."""
        known = self.states()
        certain = diagnosis.absence(known, self.rank)
        if certain is not None:
            self._conclude(certain, known)
        circle = diagnosis.deadlock(known, self.rank)
        if circle is not None and suspicion is not None and circle.culprits == suspicion.culprits:
            looked_again = all(
                (wait := known[rank].wait) is not None and wait.checked > suspected
                for rank in circle.culprits
                if rank in known
            )
            if looked_again:
                self._conclude(circle, known)
        if late:
            far = diagnosis.deadlock(known, self.rank, with_other_hosts=True)
            if far is not None:
                self._conclude(far, known)
            self._conclude(diagnosis.overdue(known, self.rank, self.timeout), known)
        return circle

    def diverged(self, group: tuple[int, ...], number: int, call: Call) -> NoReturn:
        """Ranks are in call `number` of a group with different signatures: collect them all, then report."""
        self._generation += 1
        current = self.wait_record("collective", str(call.signature), call.site, group, number, ())
        deadline = _now() + min(2.0, self.timeout)
        while True:
            self._publish(WAITING, current, call)
            self._read_verdict()
            known = self.states()
            here = {
                rank: state.fields
                for rank, state in known.items()
                if rank in group and state.fields and _same_call(state.wait, group, number)
            }
            if len(here) == len(group) or (_now() > deadline and len(set(here.values())) > 1):
                self._conclude(diagnosis.divergence(here, number), known)
            if _now() > deadline + self.timeout:
                self._conclude(diagnosis.overdue(known, self.rank, self.timeout), known)
            self._make_progress()
            time.sleep(_NAPS[1])

    def _make_progress(self) -> None:
        for step in tuple(self.progress):
            step()
        self.gossip.poll()

    # --- reporting -----------------------------------------------------------------------------------------------------

    def wait_record(
        self,
        kind: str,
        call: str,
        site: str,
        group: tuple[int, ...],
        number: int,
        missing: tuple[int, ...],
        channel: str = "",
    ) -> Wait:
        """A wait that begins now."""
        now = _now()
        return Wait(kind, call, site, group, number, missing, now, now, self._generation, channel)

    def _publish(self, state: int, wait: Wait | None, call: Call | None, **extra: object) -> None:
        """Say where this rank is: on the board for its host, in messages for other hosts."""
        record = {
            "wait": None if wait is None else states.wait_to_json(wait),
            "fields": []
            if call is None or wait is None
            else [*map(str, call.signature), str(list(wait.group))],
            "histories": self.histories(),
            "sent": self.sent,
            "posted": self.posted,
            **extra,
        }
        self.mine.write("record", record)
        self.mine.words[STATE] = state
        self.gossip.tell(state, int(self.mine.words[CALLS]), self.mine.label(), record)

    def histories(self) -> dict[str, dict[str, tuple[str, str]]]:
        """The last calls on each group, for reports."""
        return {
            group_key(group.ranks): {
                str(number): (str(call.signature), call.site) for number, call in channel.history
            }
            for group, channel in self.channels.items()
        }

    def states(self) -> dict[int, RankState]:
        """What is known of every rank now."""
        found = {}
        for rank, row in self.rows.items():
            state = int(row.words[STATE])
            pid = int(row.words[PID])
            record = dict(row.read("record") or {}) if state != RUNNING else {}
            if state == RUNNING and row.words[ANSWERED] and row.words[ANSWERED] == row.words[ASKED]:
                record = dict(row.read("answer") or {})
            lost = state not in (ENDED, RAISED) and pid != 0 and not _alive(pid)
            found[rank] = states.state_from_json(
                rank, state, lost, int(row.words[CALLS]), row.label(), record
            )
        for rank, told in self.gossip.heard.items():
            found[rank] = states.state_from_json(
                rank, told.state, False, told.calls, told.last, told.record, remote=True
            )
        return found

    def _ask(self, ranks: tuple[int, ...]) -> None:
        """Ask ranks that are in no call where they are; their beacon answers."""
        for rank in ranks:
            if rank in self.rows:
                self.rows[rank].words[ASKED] += 1

    def _conclude(self, finding: diagnosis.Finding, known: dict[int, RankState]) -> NoReturn:
        """Raise the report. One rank writes it for all, so that all show the same; the others wait for it a moment."""
        candidates = [
            r
            for r in (*finding.victims, *finding.culprits)
            if r in known and known[r].waiting and r in self.rows
        ]
        author = min(candidates, default=self.rank)
        patience = _now() + _VERDICT_SECONDS
        while author != self.rank and _now() < patience:
            self._read_verdict()
            time.sleep(_NAPS[1])
        verdict: dict[str, object] = {
            "code": finding.code,
            "culprits": finding.culprits,
            "text": render(finding, known, _now()),
        }
        self.mine.write("verdict", verdict)
        self.gossip.tell_verdict(verdict)
        self._raise(verdict)

    def _read_verdict(self) -> None:
        """Raise the report that another rank has written."""
        for rank, row in self.rows.items():
            if rank != self.rank:
                verdict = row.read("verdict")
                if verdict is not None:
                    self._raise(verdict)
        if self.gossip.verdict is not None:
            self._raise(self.gossip.verdict)

    def _raise(self, verdict: dict[str, object]) -> NoReturn:
        culprits = verdict["culprits"]
        assert isinstance(culprits, (list, tuple))
        self.error = GuardError(str(verdict["text"]), str(verdict["code"]), tuple(culprits))
        raise self.error

    # --- ends ----------------------------------------------------------------------------------------------------------

    def end(self, state: int, error: str = "", site: str = "") -> None:
        """Say that this rank will make no more calls: it ended, or it raised."""
        self._publish(state, None, None, error=error, error_site=site)

    def others_ended(self) -> bool:
        """True when every other rank has come to its end without an exception."""
        return all(state.state == ENDED for rank, state in self.states().items() if rank != self.rank)

    def others_gone(self) -> bool:
        """True when every other rank has ended, raised or vanished."""
        self._make_progress()
        return all(state.gone for rank, state in self.states().items() if rank != self.rank)


def _same_call(wait: Wait | None, group: tuple[int, ...], number: int) -> bool:
    """True when a wait belongs to a call; first calls may name another group: that is what ranks disagree on then."""
    return wait is not None and wait.number == number and (wait.group == group or number == 1)


def _nothing() -> None:
    return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
