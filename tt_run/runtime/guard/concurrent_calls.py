"""Collectives beside the one order of calls: those that are started and waited for later, and those of other threads than the main one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tt_run.runtime import events
from tt_run.runtime.comm.world import Group
from tt_run.runtime.guard import diagnosis
from tt_run.runtime.guard.channel import SharedChannel
from tt_run.runtime.guard.signature import Signature, code_of
from tt_run.runtime.guard.started_calls import Note
from tt_run.runtime.guard.states import Wait
from tt_run.runtime.guard.thread_waits import site_of_thread

if TYPE_CHECKING:
    from tt_run.runtime.guard.watch import Guard

_GATHER_SECONDS = 2.0  # how long the others' word is waited for when some disagree
_NAP = 0.001
_LOOK_SECONDS = 0.01  # between looks for ranks that wait for the first meeting of their group


class Beside:
    """One such call of this rank: the `number`-th collective on the communicator `key` of a group on this host."""

    __slots__ = ("_first", "_group", "_guard", "_key", "_looked", "_number", "_signature", "_site")

    def __init__(self, guard: Guard, group: Group, signature: Signature, key: int, number: int) -> None:
        self._guard, self._group, self._key, self._number = guard, group, key, number
        self._signature, self._site = signature, site_of_thread()
        self._first: tuple[int, ...] = ()
        self._looked = 0.0
        note = Note(code_of(signature), f"{signature} at {self._site}")
        guard.whereabouts.started.tell(key, number, note)

    def agrees(self) -> bool:
        """True once all ranks have come to it and mean the same. Raises GuardError as soon as two of them contradict each other."""
        ranks, started = self._group.ranks, self._guard.whereabouts.started
        seen = started.seen(ranks, self._key, self._number)
        if len({note.code for note in seen.values()}) > 1 and not _compatible(seen):
            deadline = time.perf_counter() + _GATHER_SECONDS
            while len(seen) < len(ranks) and time.perf_counter() < deadline:
                time.sleep(_NAP)
                seen = started.seen(ranks, self._key, self._number)
            self._conclude(seen)
        if len(seen) < len(ranks):
            return False
        started.forget(ranks, self._key, self._number)
        return True

    def missing(self) -> tuple[int, ...]:
        """The ranks that have not come to it."""
        present = self._present()
        return tuple(rank for rank in self._group.ranks if rank not in present)

    def meet(self) -> None:
        """Return when all ranks are in it, in whichever thread. Raises GuardError when they mean different things, or when nothing moves any more."""
        agreed = self.agrees()

        def done() -> bool:
            nonlocal agreed
            agreed = agreed or self.agrees()
            return agreed or self._joins_main_threads()

        self._guard.threads.until(done, self._wait)

    def _wait(self) -> Wait:
        missing = self.missing()
        # Under its own number: other calls of these ranks are counted elsewhere.
        return Wait("collective", str(self._signature), self._site, (-1, self._key), self._number, missing)

    def _present(self) -> set[int]:
        seen = self._guard.whereabouts.started.seen(self._group.ranks, self._key, self._number)
        return {*seen, *self._in_main_threads()}

    def _in_main_threads(self) -> tuple[int, ...]:
        """The ranks that wait for this call in their main thread: this rank is the one that has not come to it there."""
        channel = self._guard.whereabouts.channels.get(self._group)
        if channel is None:
            return self._meeting_first()
        return channel.ahead(code_of(self._signature)) if isinstance(channel, SharedChannel) else ()

    def _meeting_first(self) -> tuple[int, ...]:
        """The ranks whose main thread is in this call and waits for the first meeting of the group: they have no channel yet."""
        if self._looked > (now := time.perf_counter()) - _LOOK_SECONDS:
            return self._first
        self._looked, known = now, self._guard.whereabouts.known()
        waits = ((rank, known[rank].wait) for rank in self._group.ranks if known[rank].waiting)
        self._first = tuple(
            rank
            for rank, wait in waits
            if wait is not None
            and (wait.group, wait.number, wait.call) == (self._group.ranks, 1, str(self._signature))
        )
        return self._first

    def _joins_main_threads(self) -> bool:
        if not self._in_main_threads() or len(self._present()) < self._group.size:
            return False
        guard, call = self._guard, self._guard.label(self._signature, events.user_frame(1))
        channel = guard.whereabouts.channels.get(self._group)
        if channel is None:
            channel = guard.join(self._group, call, guard.threads.until)
        channel.announce(call)
        if channel.bell is not None:
            channel.bell.ring()
        return True

    def _conclude(self, seen: Mapping[int, Note]) -> None:
        finding = diagnosis.divergence({rank: _fields(note) for rank, note in seen.items()}, self._number)
        lines = tuple(f"rank {rank} means {note.text}" for rank, note in sorted(seen.items()))
        finding = diagnosis.with_lines(finding, lines)
        self._guard.conclude(finding, self._guard.whereabouts.known())


def _compatible(seen: Mapping[int, Note]) -> bool:
    return diagnosis.compatible(_fields(note) for note in seen.values())


def _fields(note: Note) -> tuple[str, ...]:
    """The fields of a signature of the program's own MPI, which has words only."""
    operation, _, detail = note.text.rpartition(" at ")[0].partition("(")
    return operation, "", "", "", detail.removesuffix(")"), ""
