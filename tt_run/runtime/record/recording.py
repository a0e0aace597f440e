"""Writing a record: each call before it begins and when it has ended, so that a rank which is killed inside of one leaves that call's name."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tt_run.runtime import guard
from tt_run.runtime.comm.group import Headed, message_of
from tt_run.runtime.comm.world import Peer
from tt_run.runtime.record import frames
from tt_run.runtime.record.arrays import Flat, Packer, digest, digests_with, stacks_of
from tt_run.runtime.record.clocks import Written
from tt_run.runtime.record.facts import Facts, of_thread
from tt_run.runtime.record.frames import COUNT, FrameWriter, call_text
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
T = TypeVar("T")
Form = tuple[int, set[int]]
"""The number of a form in the record, and which of its arrays are stacks of rows."""
_REMEMBERED = 4096


class Inside(threading.local):
    """Whether this thread is in a call; true or false as it stands."""

    now = False

    def __bool__(self) -> bool:
        return self.now


class Recording:
    """The record of this rank as it is being written."""

    replays = False

    def __init__(self, file: FrameWriter, clocks: Written | None = None) -> None:
        self.file = file
        self._clocks = clocks or Written()
        self.inside = Inside()
        """Whether a call is under way: what it makes of calls inside is part of it."""
        self.number = 0
        self._facts: dict[Facts, int] = {}
        self._recent: dict[int, tuple[Facts, int]] = {}
        """Facts by their id, with their number: they are long, and most calls come with the same ones."""
        self._forms: dict[Any, Form] = {}
        self._pieces: dict[Any, Form] = {}
        """The forms of what nearly every call gives: a piece, an array, a number or nothing."""
        self._packer = Packer()
        self._lock = threading.RLock()
        """Of this file; what a value's own pickling reads comes in between."""
        self._left = False

    def call(self, facts: Facts, sent: bytes, cross: Callable[[], T]) -> T:
        """Make a call and write down what it gave, as far as it came from other ranks. `sent` are the digests of what this rank gives."""
        number = self._begin(facts, sent)
        self.inside.now = True
        try:
            result = cross()
        except BaseException as error:
            self._raised(number, error)
            raise
        finally:
            self.inside.now = False
        self._end(frames.END, number, result, facts.crosses)
        return result

    def sends(self, facts: Facts, buffer: Array, start: Callable[[], T]) -> T:
        """Start to send: nothing comes back."""
        self._begin(facts, digest(message_of(buffer)))
        return start()

    def receives(self, facts: Facts, buffer: Array, start: Callable[[], T]) -> tuple[int, T]:
        """Start to receive; `arrived` with the number once it has."""
        return self._begin(facts, b""), start()

    def arrived(self, number: int, value: Any) -> None:
        """What a receive has brought."""
        self._end(frames.ARRIVED, number, value, True)

    def peers(self, peers: Sequence[Peer]) -> None:
        """The ranks of the job, once they have met."""
        names = Peer.__slots__
        self.file.write_json(frames.PEERS, [{n: getattr(peer, n) for n in names} for peer in peers])

    def entropy(self, size: int, source: Callable[[int], bytes]) -> bytes:
        """Random bytes of the machine."""
        found = source(size)
        with self._lock:
            self.file.write(frames.ENTROPY, b"", [found])
        return found

    def read(self, data: bytes) -> None:
        """What came from standard input."""
        with self._lock:
            self.file.write(frames.INPUT, b"", [data])

    def opened(self, told: dict[str, Any], data: bytes) -> None:
        """A file that the program is about to read."""
        with self._lock:
            self.file.write(frames.FILE, json.dumps(told).encode(), [data])

    def library(self, facts: dict[str, Any]) -> None:
        """What the names of the MPI library mean."""
        self.file.write_json(frames.LIBRARY, facts)

    def leave(self, how: dict[str, Any]) -> None:
        """How the program ended."""
        if not self._left:
            self._left = True
            self._write_readings()
            self.file.write_json(frames.EXIT, {**how, "calls": self.number})
            with self._lock:  # no other thread is in the midst of a frame
                self.file.close()

    def _begin(self, facts: Facts, sent: bytes) -> int:
        facts = of_thread(facts)
        with self._lock:
            known = self._recent.get(id(facts))
            which = known[1] if known is not None and known[0] is facts else self._which(facts)
            self.number = number = self.number + 1
            if self._clocks.kept:
                self._write_readings()
            self.file.write(frames.BEGIN, call_text(number, which, sent), [COUNT.pack(_counted(facts))])
            return number

    def _which(self, facts: Facts) -> int:
        """The number of facts, which are written down the first time."""
        which = self._facts.get(facts)
        if which is None:
            which = self._facts[facts] = len(self._facts)
            self.file.write_json(frames.FACT, facts)
        if len(self._recent) >= _REMEMBERED:
            self._recent.clear()
        self._recent[id(facts)] = facts, which
        return which

    def _write_readings(self) -> None:
        """What the program has read from clocks since the last call."""
        found = self._clocks.take()
        if found:
            self.file.write(frames.CLOCK, b"", [found])

    def _end(self, kind: bytes, number: int, value: Any, kept: bool) -> None:
        with self._lock:
            whole = value.view(np.ndarray) if isinstance(value, Headed) else value
            (which, stacks), arrays = self._taken_apart(whole)
            digests = digests_with(stacks, arrays)
            # Where a message was sent is no difference between two runs; what it says besides, its sender compares.
            told = b"" if whole is not value else digests[0] if len(digests) == 1 else b"".join(digests)
            text = call_text(number, which, told)
            if kept:
                self._packer.written(self.file.write(kind, text, self._packer.pack(arrays, digests)))
            else:
                self.file.write(kind, text)

    def _taken_apart(self, value: Any) -> tuple[Form, list[Array]]:
        """The form of a value, which is written down the first time, and its arrays."""
        key: Any = None
        held: list[Array] = []
        if type(value) is list and len(value) == 1 and type(value[0]) is Shards:
            data = value[0].data
            key = data.dtype, data.shape, value[0].index
            held = [data]
        elif (
            type(value) is tuple
            and len(value) == 3
            and value[1] is None
            and type(value[2]) is list
            and not value[2]
        ):
            key, held = _of_mpi(value[0])  # no status, and no memory that is open to others
        if key is not None and (known := self._pieces.get(key)) is not None:
            return known, held
        flat = Flat(value)
        form = self._forms.get(flat.form)
        if form is None:
            form = self._forms[flat.form] = len(self._forms), stacks_of(flat.form)
            self.file.write_json(frames.FORM, flat.form)
        if key is not None:
            self._pieces[key] = form
        return form, flat.arrays

    def _raised(self, number: int, error: BaseException) -> None:
        with self._lock:
            self.file.write(frames.RAISED, call_text(number, 0) + as_text(error))


def _of_mpi(result: Any) -> tuple[Any, list[Array]]:
    """What tells the form of a plain result, and its arrays; None for what is looked at more closely."""
    if result is None:
        return "nothing", []
    if type(result) is np.ndarray:
        return (result.dtype, result.shape), [result]
    if (
        type(result) is tuple
        and len(result) == 2
        and type(result[0]) is str
        and type(result[1]) is np.ndarray
    ):
        word, data = result
        return (word, data.dtype, data.shape), [data]
    return None, []


def _counted(facts: Facts) -> int:
    """The number that the guard gives a call which is about to begin; 0 for what it does not count."""
    if facts.kind in ("collective", "entered"):
        return guard.calls_made() + 1 if facts.ranks else 0  # the ranks agree inside of it
    return 0 if facts.kind == "mpi" else guard.calls_made()


def as_text(error: BaseException) -> bytes:
    """An error as JSON: enough to raise it again."""
    import pickle

    told = {
        "type": type(error).__name__,
        "message": str(error),
        "code": getattr(error, "code", None) if isinstance(error, RuntimeError) else None,
        "culprits": list(getattr(error, "culprits", ())),
    }
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
        told["pickle"] = pickled.hex()
    except Exception:  # an exception that only its own module can make
        pass
    return json.dumps(told).encode()
