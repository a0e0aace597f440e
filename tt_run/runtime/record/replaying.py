"""Reading a record back: each call of the program is compared with the one that was recorded, and answered from it."""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from tt_run import contract
from tt_run.runtime.comm.group import message_of
from tt_run.runtime.comm.world import Peer
from tt_run.runtime.errors import fatal
from tt_run.runtime.guard.report import GuardError
from tt_run.runtime.record import frames
from tt_run.runtime.record.arrays import DIGEST_BYTES, Flat, assemble, digest, digests_of, unpack
from tt_run.runtime.record.facts import Facts, facts_from_json, of_thread
from tt_run.runtime.record.frames import Frame
from tt_run.runtime.record.recording import Inside
from tt_run.runtime.record.reopened import asked_outside, changed_files
from tt_run.runtime.record.soundness import Damaged, check_form, reading

Array = npt.NDArray[Any]
T = TypeVar("T")
_PATIENCE = 200  # looks at a message that never arrived before the replay says so


class Divergence(RuntimeError):
    """The program does not do what was recorded."""

    code = "TTP001"


class RecordEnds(RuntimeError):
    """The program goes on where the record ends: the rank was killed, or waited for ever."""

    code = "TTP002"


class Story:
    """A whole record, read once: facts, forms, and the frames of each call by its number. Raises ValueError for one that is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: dict[str, Any] = {}
        self.peers: list[dict[str, Any]] = []
        self.facts: list[Facts] = []
        self.forms: list[Any] = []
        self.begun: list[Frame] = []
        self.ended: dict[int, Frame] = {}
        self.raised: dict[int, Frame] = {}
        self.entropy: list[bytes] = []
        self.input = bytearray()
        self.exit: dict[str, Any] | None = None
        self.stopped = ""
        for frame in frames.read_frames(path):
            with reading(path, frame.at):
                self._take(frame)
        with reading(path, 0):
            int(self.header["rank"])

    def _take(self, frame: Frame) -> None:
        kind = frame.kind
        if kind == frames.BEGIN:
            _number, fact = frame.call
            self.facts[fact]
            self.begun.append(frame)
        elif kind in (frames.END, frames.ARRIVED):
            number, form = frame.call
            self.forms[form]
            self.ended[number] = frame
        elif kind == frames.RAISED:
            str(json.loads(frame.digests)["message"])
            self.raised[frame.call[0]] = frame
        elif kind == frames.FACT:
            self.facts.append(facts_from_json(frame.json))
        elif kind == frames.FORM:
            form = frame.json
            check_form(form)
            self.forms.append(form)
        elif kind == frames.HEADER:
            self.header = self.header or frame.json
        elif kind == frames.PEERS:
            self.peers = frame.json
        elif kind == frames.ENTROPY:
            self.entropy.append(bytes(frame.body))
        elif kind == frames.INPUT:
            self.input += frame.body
        elif kind == frames.EXIT:
            self.exit = frame.json
        elif kind == frames.STOPPED:
            self.stopped = frame.json["why"]

    @cached_property
    def by_thread(self) -> dict[str, list[int]]:
        """The numbers of the calls that each thread made, in their order; the main thread's name is empty."""
        found: dict[str, list[int]] = {}
        for number in range(1, len(self.begun) + 1):
            found.setdefault(self.facts_of(number).thread, []).append(number)
        return found

    @property
    def rank(self) -> int:
        """Whose record it is."""
        return int(self.header["rank"])

    def facts_of(self, number: int) -> Facts:
        """What the call of a number is called; they count from 1."""
        return self.facts[self.begun[number - 1].call[1]]

    def counted(self, number: int) -> int:
        """The number that the guard, its reports and `--inject` give a call; 0 for none, as of mpi4py's."""
        body = self.begun[number - 1].body if number <= len(self.begun) else b""
        return int(frames.COUNT.unpack(body)[0]) if len(body) == frames.COUNT.size else 0

    def name_of(self, number: int) -> str:
        """A call by both of its numbers."""
        counted = self.counted(number)
        return f"call {number} of the record" + (f" (call {counted} of the guard)" if counted else "")

    def form_of(self, number: int) -> Any:
        """The form of what a call gave, None if it gave nothing."""
        frame = self.ended.get(number)
        return None if frame is None else self.forms[frame.call[1]]

    def arrays_of(self, number: int) -> list[Array]:
        """What a call gave; empty where nothing was kept."""
        frame = self.ended.get(number)
        if frame is None or not frame.body:
            return []
        with reading(self.path, frame.at):
            form = self.forms[frame.call[1]]
            found = unpack(frame.body, form, self._from)
            if frame.digests and frame.digests != b"".join(digests_of(form, found)):
                raise ValueError("its values are not those that were digested")
            return found

    def place_of(self, number: int) -> int:
        """Where in the file the record has what a call gave."""
        frame = self.ended.get(number)
        return 0 if frame is None else frame.at

    def value_of(self, number: int) -> Any:
        """The same put together."""
        with reading(self.path, self.place_of(number)):
            return assemble(self.form_of(number), self.arrays_of(number))

    def _from(self, place: int) -> memoryview:
        body = self.begun[0].body if self.begun else next(iter(self.ended.values())).body
        whole_file: memoryview = memoryview(body.obj)
        return whole_file[place:]

    def ending(self) -> str:
        """How the record ends, in words."""
        if self.stopped:
            return f"recording stopped there: {self.stopped}"
        if self.exit is None:
            return "the rank was ended there without a word: killed, or still running"
        if "exception" in self.exit:
            return f"the rank ended there with {self.exit['exception']}: {self.exit.get('message', '')}"
        return "the program ended there"


class Replaying:
    """The record of one rank as it is being read back. `strict`: what differs from it ends the replay; otherwise it is said once."""

    replays = True

    def __init__(
        self, story: Story, strict: bool = True, tell: Callable[[str], None] = lambda text: None
    ) -> None:
        self.story, self.strict = story, strict
        self.inside = Inside()
        self.number = 0
        """The call of the record that is made now, or was last."""
        self.made = 0
        self._made_by: Counter[str] = Counter()
        self.differs = 0
        """The first call that was not the recorded one, 0 for none."""
        self.before_call: Callable[[int, Facts], None] = lambda number, facts: None
        self._tell = tell
        self._entropy = iter(story.entropy)
        self._lock = threading.Lock()

    def call(self, facts: Facts, sent: bytes, cross: Callable[[], T]) -> T:
        """The recorded answer to a call; what needs nobody else is computed."""
        number = self._begin(facts, sent)
        if facts.crosses or number in self.story.raised:
            return self._answer(number)
        self.inside.now = True
        try:
            result = cross()
        finally:
            self.inside.now = False
        self._compare_result(number, facts, result)
        return result

    def sends(self, facts: Facts, buffer: Array, start: Callable[[], T]) -> T:
        """Compare what would be sent."""
        self._begin(facts, digest(message_of(buffer)))
        return Arrived()  # type: ignore[return-value]

    def receives(self, facts: Facts, buffer: Array, start: Callable[[], T]) -> tuple[int, T]:
        """The message that the record has for this receive."""
        number = self._begin(facts, b"")
        return number, Expected(self, number, buffer)  # type: ignore[return-value]

    def arrived(self, number: int, value: Any) -> None:
        """Nothing to write down."""

    def value(self, number: int) -> Any:
        """What a receive brought."""
        return self.story.value_of(number)

    def peers(self, peers: Sequence[Peer]) -> None:
        """Nothing to write down."""

    def entropy(self, size: int, source: Callable[[int], bytes]) -> bytes:
        """The next random bytes of the record, if they are as many."""
        found = next(self._entropy, b"")
        return found if len(found) == size else source(size)

    def leave(self, how: dict[str, Any]) -> None:
        """Nothing to write down."""

    def _begin(self, facts: Facts, sent: bytes) -> int:
        number, story = self._next(of_thread(facts).thread), self.story
        self.before_call(number, facts)
        if number > len(story.begun):
            self._end_of_record(facts)
        recorded = story.facts_of(number)
        if (recorded.kind, recorded.words, recorded.ranks) != (facts.kind, facts.words, facts.ranks):
            self._differs(number, f"the record has {recorded}\n  now the program calls {facts}", fatal=True)
        elif story.begun[number - 1].digests != sent:
            self._differs(
                number,
                f"{recorded}\n  now sends other values from {facts.site}{_whose(facts, story.begun[number - 1].digests, sent)}",
            )
        return number

    def _next(self, thread: str) -> int:
        """The number of a thread's next call in the record; beyond its end if it has no more."""
        with self._lock:
            numbers, at = self.story.by_thread.get(thread, ()), self._made_by[thread]
            self._made_by[thread] += 1
            self.number = numbers[at] if at < len(numbers) else len(self.story.begun) + 1
            self.made += at < len(numbers)
            return self.number

    def _answer(self, number: int) -> Any:
        if number in self.story.raised:
            raise raised_again(json.loads(self.story.raised[number].digests))
        if number not in self.story.ended:
            self._end_of_record(self.story.facts_of(number), begun=True)
        try:
            return self.story.value_of(number)
        except Damaged as error:  # nothing of the program is at fault
            self._damaged(error)

    def _damaged(self, error: Damaged) -> NoReturn:
        from tt_run.runtime.record.folder import finding_of

        sys.stdout.flush()
        self._tell(finding_of(error))
        sys.stderr.flush()
        os._exit(contract.Exit.UNREADABLE)

    def _compare_result(self, number: int, facts: Facts, result: Any) -> None:
        frame = self.story.ended.get(number)
        if frame is not None and b"".join(Flat(result).digests()) != frame.digests:
            self._differs(number, f"{facts}\n  now gives other values, though the same were sent")

    def _differs(self, number: int, what: str, fatal: bool = False) -> None:
        """Say it once; go on only where the record still fits and it is wanted."""
        first, self.differs = not self.differs, self.differs or number
        text = (
            f"error[{Divergence.code}]: the replay differs from the record at {self.story.name_of(number)}\n  call {number}: {what}\n"
            f"{changed_files()}{asked_outside()}"
            "  help: replay the program as it was recorded; --allow-changes goes on where only values differ"
        )
        if self.strict or fatal:
            raise Divergence(text)
        if first:
            self._tell(text.replace("error[", "warning[", 1))

    def _end_of_record(self, facts: Facts, begun: bool = False) -> NoReturn:
        exit_ = self.story.exit or {}
        if exit_.get("error", {}).get("code"):
            raise raised_again(exit_["error"])
        where = (
            f"in {self.story.name_of(self.number)}, {facts}"
            if begun
            else f"after call {len(self.story.begun)}"
        )
        more = "" if begun else f"\n  the program goes on with {facts}"
        raise RecordEnds(
            f"error[{RecordEnds.code}]: the record of rank {self.story.rank} ends {where}\n  {self.story.ending()}{more}"
        )

    def never_met(self) -> NoReturn:
        """The other ranks are asked for, whom this one had not met when it ended."""
        raise RecordEnds(
            f"error[{RecordEnds.code}]: the record of rank {self.story.rank} ends before the ranks had met\n  {self.story.ending()}"
        )

    def never_arrived(self, number: int) -> NoReturn:
        """A message is waited for that the record does not have."""
        self._end_of_record(self.story.facts_of(number), begun=True)


class Arrived:
    """A send that has gone through."""

    def test(self) -> bool:
        """True."""
        return True


class Expected:
    """A receive whose message is in the record, or is not."""

    def __init__(self, replaying: Replaying, number: int, buffer: Array) -> None:
        self._replaying, self._number, self.buffer = replaying, number, buffer
        self._looks, self._done = 0, False

    def test(self) -> bool:
        """True as soon as it is looked at. Raises RecordEnds for a message that is waited for and never arrived."""
        if self._done:
            return True
        if self._number not in self._replaying.story.ended:
            self._looks += 1
            if self._looks > _PATIENCE:
                self._replaying.never_arrived(self._number)
            return False
        copy_recorded(self.buffer, self._replaying.value(self._number))
        self._done = True
        return True


def copy_recorded(buffer: Array, value: Any) -> None:
    """Copy a recorded array into the one that was to be filled."""
    if value is buffer:
        return
    if value.nbytes != buffer.nbytes:
        raise fatal(
            f"the record has {value.nbytes} bytes where the program now receives {buffer.nbytes}",
            hint="run it again with --record, with the program as it is now",
        )
    buffer.reshape(-1).view(np.uint8)[:] = value.reshape(-1).view(np.uint8)


def raised_again(told: dict[str, Any]) -> BaseException:
    """A recorded error, to be raised."""
    if told.get("code") and told["type"] == "GuardError":
        return GuardError(told["message"], told["code"], tuple(told["culprits"]))
    if "pickle" in told:
        found = pickle.loads(bytes.fromhex(told["pickle"]))
        if isinstance(found, BaseException):
            if hasattr(found, "said"):  # an error of MPI, which is pickled by its number
                found.said = told["message"]
            return found
    return RuntimeError(f"{told['type']}: {told['message']}")


def _whose(facts: Facts, before: bytes, now: bytes) -> str:
    """The devices whose values differ."""
    cuts = [slice(at, at + DIGEST_BYTES) for at in range(0, min(len(before), len(now)), DIGEST_BYTES)]
    changed = [number for number, cut in enumerate(cuts) if before[cut] != now[cut]]
    devices = [d for d, row in zip(facts.devices, facts.rows, strict=False) if row in changed]
    return f" on device {', '.join(map(str, devices))}" if devices else ""
