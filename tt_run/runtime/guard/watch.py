"""The guard of this rank: lets calls through when all ranks agree, waits with a deadline, raises one report on all ranks."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import NoReturn

from mgd.lean import dataclass, field, replace
from tt_run.granted import give_way, usable_cpus
from tt_run.runtime import events
from tt_run.runtime.comm.bell import Bell
from tt_run.runtime.comm.deadlines import MOST, Patience
from tt_run.runtime.comm.world import Group, World
from tt_run.runtime.guard import diagnosis
from tt_run.runtime.guard.board import CALLS, ENDED, LABEL, WAITING
from tt_run.runtime.guard.channel import DIFFERENT, PENDING, Channel, MessageChannel, SharedChannel
from tt_run.runtime.guard.joining import Until, join
from tt_run.runtime.guard.own_traffic import own_traffic
from tt_run.runtime.guard.report import GuardError, render
from tt_run.runtime.guard.signature import Labels, Signature, SignedCall
from tt_run.runtime.guard.states import RankState, Wait
from tt_run.runtime.guard.thread_waits import ThreadWaits
from tt_run.runtime.guard.transfer import Transfer
from tt_run.runtime.guard.whereabouts import Verdict, Whereabouts

_SPINS = 1000  # looks before the processor is offered to others
_YIELD_SECONDS = 0.005  # then this long with the processor offered between looks
# Or such naps, where ranks are crowded: who offers the processor gets it back when the others have used up their turns, who naps when it wakes.
_SHORT_NAP = 0.00002
_SLEEP_SECONDS = 0.05  # so long instead where ranks sleep until a bell
_LONG_SLEEP_SECONDS = 0.02  # and then, between looks at what else there may be
_NAPS = (0.0001, 0.001)  # then naps, growing from the first to the second
_INSPECT_SECONDS = 0.05  # how often a long wait looks at the other ranks
_MOST_LOOKED_AT = 8  # ranks whose processes are asked for how long they had no processor
_ANSWER_SECONDS = 0.5  # before the deadline, ranks that run are asked where they are
_LATE_ANSWER_SECONDS = 2.0  # and so long after it, on a machine that is too busy for an answer, before nobody's word is the report
_VERDICT_SECONDS = 1.0  # how long the others leave it to one rank to write the report
_STARVED_SECONDS = 10.0  # and so much longer, at most, where it may see a rank that gets no processor
_GATHER_SECONDS = 2.0  # how long ranks that disagree wait for the rest of the group to show its call
_now = time.perf_counter

DATA = "the data of a collective"
"""What ranks wait for that have agreed on a call."""


@dataclass()
class _Suspicion:
    """A circle seen once, and when: it is certain when everybody in it has looked again and is still in the very same wait.

    The states of the ranks are read one after the other, so two ranks that wait for each other in turn may look like a circle, even twice.
    """

    waits: dict[int, int] = field(default_factory=dict)
    since: float = 0.0

    def confirmed(self, circle: diagnosis.Finding, known: dict[int, RankState]) -> bool:
        waits = {rank: wait for rank in circle.culprits if rank in known and (wait := known[rank].wait)}
        numbers = {rank: wait.generation for rank, wait in waits.items()}
        if numbers != self.waits:
            self.waits, self.since = numbers, _now()
            return False
        return all(wait.checked > self.since for wait in waits.values())


class Guard:
    """One per process with several ranks. Creating it is collective over all ranks of the job."""

    def __init__(self, world: World, timeout: float) -> None:
        self.world = world
        self.rank = world.rank
        self.timeout = timeout
        self.whereabouts = Whereabouts(world)
        self.threads = ThreadWaits(self)
        self.error: GuardError | None = None
        self._labels = Labels()
        self._channels = self.whereabouts.channels
        self._words = self.whereabouts.words
        self._leaving: list[Transfer] = []
        self._generation = 0
        self.crowded = len(world.neighbours.ranks) > len(usable_cpus())
        self._spins = 0 if self.crowded else _SPINS
        self._pause = partial(time.sleep, _SHORT_NAP) if self.crowded else give_way

    # --- the hot path --------------------------------------------------------------------------------------------------

    def collective(self, group: Group, signature: Signature, frame: FrameType | None) -> None:
        """Return when all ranks of the group are here with the same signature; GuardError otherwise."""
        if self.error is not None:
            raise GuardError(str(self.error), self.error.code, self.error.culprits)
        # As `enter`, which would be one call more.
        code, at = (frame.f_code, frame.f_lasti) if frame is not None else (None, 0)
        call = self._labels.calls.get((id(code), at, signature))
        if call is None:
            call = self.label(signature, frame)
        words = self._words
        words[LABEL] = call.slot
        words[CALLS] += 1
        channel = self._channels.get(group)
        if channel is None:
            channel = self.join(group, call, lambda done, wait: self.wait_until(done, wait, call))
        word = channel.announce(call)
        if not channel.spin(word, self._spins):
            self._meet(channel, word, call)
        elif channel.bell is not None:
            channel.bell.ring()

    def enter(self, signature: Signature, frame: FrameType | None) -> None:
        """Say that this rank makes its next call, at the user's frame."""
        code, at = (frame.f_code, frame.f_lasti) if frame is not None else (None, 0)
        call = self._labels.calls.get((id(code), at, signature)) or self.label(signature, frame)
        self._words[LABEL] = call.slot
        self._words[CALLS] += 1

    def label(self, signature: Signature, frame: FrameType | None) -> SignedCall:
        """Remember a call that is made for the first time; its instruction stands for the line, which takes longer to find."""
        call = self._labels.add(frame, signature)
        self.whereabouts.label(call)
        return call

    def _meet(self, channel: Channel, word: int, call: SignedCall) -> None:
        """The slow part of a collective: offer the processor, then nap, watching the others."""

        def done() -> bool:
            return channel.look(word) != PENDING

        def wait() -> Wait:
            ranks, missing = channel.group.ranks, channel.missing(word)
            return Wait("collective", str(call.signature), call.site, ranks, channel.number, missing)

        self.wait_until(done, wait, call, channel.bell)
        if channel.look(word) == DIFFERENT:
            self._diverged(channel.group, channel.number, call)

    def join(self, group: Group, call: SignedCall, until: Until) -> Channel:
        """The first call of a group: create its communicator and channel once all members are known to come."""
        join(self.world.control, group, call, until, lambda: self.diverged(group.ranks, 1, call))
        group.connect()
        if not group.on_one_host:
            group.waiting = self._wait_for_data
        channel: Channel = SharedChannel(group, self.crowded) if group.on_one_host else MessageChannel(group)
        self._channels[group] = channel
        return channel

    def _wait_for_data(self, done: Callable[[], bool], missing: Callable[[], tuple[int, ...]]) -> None:
        """Wait for what other hosts send inside of a collective that all ranks have come to: one may be stopped there, or lost."""
        self.wait_until(done, lambda: Wait("collective", DATA, events.call_site(), (), 0, missing()))

    # --- waiting -------------------------------------------------------------------------------------------------------

    def wait_until(
        self,
        done: Callable[[], bool],
        wait: Callable[[], Wait],
        call: SignedCall | None = None,
        bell: Bell | None = None,
    ) -> None:
        """Return when `done()`. A long wait is published as `wait()`; it ends in a GuardError when it cannot succeed.

        `call` adds its signature's fields to what is published. `bell` is rung by whoever finds this wait to be over.
        """
        began = _now()
        # A rank whose messages must be helped on cannot sleep; it rings all the same, since it may be the one that finds the wait over.
        if bell is None or self._leaving or own_traffic.moves():
            while _now() - began < _YIELD_SECONDS:
                if done():
                    if bell is not None:
                        bell.ring()
                    return
                own_traffic.moves()
                self._pause()
        elif _rung(done, bell, began):
            return
        self._generation += 1
        try:
            self._wait_long(done, wait, call, began, bell)
        finally:
            if self.error is None:
                self.whereabouts.publish_running()

    def wait_for(self, transfer: Transfer, is_open: Callable[[], bool] = bool) -> None:
        """Return when the message has gone through; GuardError when it cannot.

        While `is_open()`, as beside other threads of the program, no circle is certain: what one of them sends may end it.
        """

        def wait() -> Wait:
            found = transfer.wait(self.rank)
            return replace(found, kind="message") if is_open() else found

        self.wait_until(transfer.test, wait)

    def wait_in_thread(self, transfer: Transfer) -> None:
        """The same in another thread than the main one."""
        self.threads.until(transfer.test, lambda: replace(transfer.wait(self.rank), kind="message"))

    def _wait_long(
        self,
        done: Callable[[], bool],
        wait: Callable[[], Wait],
        call: SignedCall | None,
        began: float,
        bell: Bell | None,
    ) -> None:
        nap, inspected, asked = _NAPS[0], began, False
        suspicion, patience = _Suspicion(), Patience()
        while True:
            heard = bell.heard if bell is not None else 0
            if done():
                return
            moving = self.make_progress()
            if bell is None or moving:
                time.sleep(nap)
                nap = _NAPS[0] if moving else min(nap * 1.5, _NAPS[1])
            else:
                bell.sleep(heard, _LONG_SLEEP_SECONDS)
            now = _now()
            if now - inspected < _INSPECT_SECONDS:
                continue
            inspected = now
            current = replace(
                wait(), since=began, checked=now, generation=self._generation, callers=events.callers()
            )
            # Past the deadline because the one waited for gets no processor: ranks of other hosts are told that somebody still looks.
            still = int(now - began) if now - began > self.timeout else 0
            self.whereabouts.publish(WAITING, current, call, still=still)
            self.obey()
            patience.look(self.whereabouts.processes(current.missing[:_MOST_LOOKED_AT]))
            if not asked and patience.over(self.timeout - _ANSWER_SECONDS):
                self.whereabouts.ask(current.missing)
                asked = True
            late = patience.over(self.timeout) and (
                self.whereabouts.have_answered(current.missing)
                or patience.over(self.timeout + _LATE_ANSWER_SECONDS)
            )
            if late:
                self.whereabouts.look_into(current.missing[:_MOST_LOOKED_AT])
            self._inspect(done, wait, suspicion, late)

    def _inspect(
        self, done: Callable[[], bool], wait: Callable[[], Wait], suspicion: _Suspicion, late: bool
    ) -> None:
        """Look at all ranks and raise what is certain; once the deadline has passed, what is most likely."""
        if not late and self.whereabouts.running(wait().missing):
            # Nobody to be waited for in vain. On a busy host this is all that is looked at, or looking would keep it busy.
            return
        known = self.whereabouts.known()
        certain = diagnosis.absence(known, self.rank)
        if certain is not None:
            # A rank may have done what it was waited for and ended since this rank looked: whoever is gone now has done all that it will.
            if done() or not set(wait().missing) & set(certain.culprits):
                return
            self.conclude(certain, known)
        circle = diagnosis.deadlock(known, self.rank)
        if circle is not None and suspicion.confirmed(circle, known):
            self.conclude(circle, known)
        if late:
            far = diagnosis.deadlock(known, self.rank, at_last=True)
            self.conclude(far or diagnosis.overdue(known, self.rank, self.timeout), known)

    def _diverged(self, group: Group, number: int, call: SignedCall) -> None:
        """Different signatures in call `number` of a group. Returns where they contradict each other nowhere."""
        self.diverged(group.ranks, number, call)
        group.barrier()  # until everybody has seen what all of them mean
        self.whereabouts.publish_running()

    def diverged(self, group: tuple[int, ...], number: int, call: SignedCall) -> None:
        """Ranks are in call `number` of a group with different signatures: collect them all, then report what they disagree on, if anything.

        Those that contradict each other nowhere wait for the rest as in any call.
        """
        self._generation += 1
        began, patience, suspicion, asked = _now(), Patience(), _Suspicion(), False
        current = Wait(
            "collective",
            str(call.signature),
            call.site,
            group,
            number,
            (),
            began,
            began,
            self._generation,
            callers=events.callers(),
        )
        self.whereabouts.publish(WAITING, current, call)
        while True:
            self.obey()
            known = self.whereabouts.known()
            here = {rank: s.fields for rank, s in known.items() if rank in group and s.shows(group, number)}
            is_complete = len(here) == len(group)
            is_alike = not here or diagnosis.compatible(here.values())
            if is_complete and is_alike:
                return
            if is_complete or (not is_alike and _now() - began > _GATHER_SECONDS):
                self.conclude(diagnosis.divergence(here, number), known)
            missing = tuple(rank for rank in group if rank not in here) if is_alike else ()
            patience.look(self.whereabouts.processes(missing[:_MOST_LOOKED_AT]))
            current = replace(current, missing=missing, checked=_now())
            self.whereabouts.publish(WAITING, current, call)
            if not asked and patience.over(self.timeout - _ANSWER_SECONDS):
                self.whereabouts.ask(missing)
                asked = True
            if self.rank in here and missing:
                late = patience.over(self.timeout)
                self._inspect(lambda: False, partial(replace, current), suspicion, late)
            self.make_progress()
            time.sleep(_NAPS[1])

    def leaving(self, transfer: Transfer) -> None:
        """Keep a message moving while this rank waits for something else, even for no message at all."""
        self._leaving.append(transfer)

    def make_progress(self) -> bool:
        """Move messages on that were started and not waited for, True if there are any; take in what other hosts tell."""
        if self._leaving:
            self._leaving = [transfer for transfer in self._leaving if not transfer.test()]
        self.whereabouts.poll()
        return own_traffic.moves() or bool(self._leaving)

    # --- reporting -----------------------------------------------------------------------------------------------------

    def conclude(self, finding: diagnosis.Finding, known: dict[int, RankState]) -> NoReturn:
        """Raise the report. One rank writes it for all, so that all show the same; the others wait for it a moment."""
        author = self._author(finding, known)
        # The deadline of an author who sees its culprit want for a processor passes later than ours.
        starved = (
            min(self.timeout, _STARVED_SECONDS) if finding.code == "TTG005" and author != self.rank else 0
        )
        began = _now()
        patience, latest = began + _VERDICT_SECONDS + starved, began + (MOST - 1) * starved
        checked = looked = 0.0
        # Ranks that look at the same moment may each take themselves for the author: only one can claim it.
        while _now() < patience + _VERDICT_SECONDS:
            if (author == self.rank or _now() > patience) and self.whereabouts.claim_verdict():
                break
            self.make_progress()
            self.obey()
            if starved and _now() - looked > _INSPECT_SECONDS:
                # As long as it goes on looking, on a host whose processors we do not see.
                looked, before = _now(), checked
                author_waits = self.whereabouts.known()[author].wait
                checked = 0.0 if author_waits is None else author_waits.checked
                if checked != before:
                    patience = max(patience, min(looked + _VERDICT_SECONDS + starved, latest))
            time.sleep(_NAPS[1])
        text = render(finding, self._with_places(known), _now())
        verdict: Verdict = {"code": finding.code, "culprits": finding.culprits, "text": text}
        self.whereabouts.publish_verdict(verdict)
        self._raise(verdict)

    def _with_places(self, known: dict[int, RankState]) -> dict[int, RankState]:
        """What is known, and where ranks are that run as far as anybody has seen: one may have come to its wait too lately to have said so."""
        running = tuple(
            rank
            for rank, state in known.items()
            if rank != self.rank and not (state.gone or state.waiting or state.doing or state.remote)
        )
        if not running:
            return known
        self.whereabouts.ask(running)
        until = _now() + _ANSWER_SECONDS
        while _now() < until and not self.whereabouts.have_answered(running):
            self.make_progress()
            time.sleep(_NAPS[1])
        now = self.whereabouts.known()
        return known | {rank: now[rank] for rank in running if not now[rank].gone}

    def _author(self, finding: diagnosis.Finding, known: dict[int, RankState]) -> int:
        """The lowest rank that waits, on the host of a culprit if there is one: it sees where the culprit is."""
        peers = self.world.peers
        hosts = {peers[rank].host for rank in finding.culprits}
        able = [
            rank for rank in (*finding.victims, *finding.culprits) if rank in known and known[rank].waiting
        ]
        return min(able, key=lambda rank: (peers[rank].host not in hosts, rank), default=self.rank)

    def obey(self) -> None:
        """Raise the report that another rank has written."""
        verdict = self.whereabouts.verdict()
        if verdict is not None:
            self._raise(verdict)

    def _raise(self, verdict: Verdict) -> NoReturn:
        self.error = GuardError(str(verdict["text"]), str(verdict["code"]), tuple(verdict["culprits"]))
        raise self.error

    # --- ends ----------------------------------------------------------------------------------------------------------

    def end(self, state: int, error: str = "", site: str = "") -> None:
        """Say that this rank will make no more calls: it ended, or it raised."""
        self.whereabouts.publish(state, None, error=error, error_site=site)

    def others_ended(self) -> bool:
        """True when every other rank has come to its end without an exception."""
        return all(state.state == ENDED for state in self.whereabouts.others())

    def others_gone(self) -> bool:
        """True when every other rank has ended, raised or vanished."""
        self.make_progress()
        return all(state.gone for state in self.whereabouts.others())


def _rung(done: Callable[[], bool], bell: Bell, began: float) -> bool:
    """True when `done()` within the time of a short wait, which is slept through; rings if it was not for a ring that it ended."""
    slept = False
    while (left := began + _SLEEP_SECONDS - _now()) > 0:
        heard = bell.heard
        if done():
            if not slept:
                bell.ring()
            return True
        bell.sleep(heard, left)
        slept = True
    return False
