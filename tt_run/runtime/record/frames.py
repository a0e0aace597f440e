"""The file of a record: frames one after the other, each whole as soon as it is written, so that a killed rank's record reads to its end.

A frame is its kind (one byte), the length of its text and of its body, a checksum, then both. The checksum is of all but the body of
what a call gave, which is large and has a digest of its own. What follows the last whole frame is ignored.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tt_run.runtime.record.preallocation import Room
from tt_run.runtime.record.soundness import Damaged

MAGIC = b"tt-run record 5\n"
_ANY_MAGIC = re.compile(rb"tt-run record (\d+)\n")
SUFFIX = ".record"
_HEAD = struct.Struct("<cIQ")
_SUM = struct.Struct("<I")
_CALL = struct.Struct("<II")
_pack_head, _pack_sum, _crc32 = _HEAD.pack, _SUM.pack, zlib.crc32
_JOINED = 1 << 14  # bytes up to which a copy takes less than handing over the parts
COUNT = struct.Struct("<I")
"""The body of a call's beginning: its number for the guard, 0 where it has none."""

# Kinds of frames. Facts and forms are numbered in the order of their frames.
HEADER, PEERS, FACT, FORM = b"H", b"P", b"D", b"S"  # JSON
BEGIN, END, ARRIVED = b"B", b"E", b"M"  # a call and its number, what it gave, and a message that arrived
RAISED = b"Z"  # the error that ended a call
ENTROPY, INPUT = b"R", b"I"  # random bytes of the machine, bytes of standard input
CLOCK = b"T"  # readings of clocks
FILE = b"O"  # JSON of a file that is opened for reading, and its content, compressed
LIBRARY = b"L"  # JSON: what the names of the MPI library mean
EXIT, STOPPED = b"X", b"F"  # how the program ended; why the record did before it
_DIGESTED = (END, ARRIVED)


class Frame(NamedTuple):
    """One frame; `at` is where its body begins in the file."""

    kind: bytes
    text: bytes
    body: memoryview
    at: int

    @property
    def json(self) -> Any:
        """The text as JSON."""
        return json.loads(self.text)

    @property
    def call(self) -> tuple[int, int]:
        """The two numbers that the text of a call's frame begins with."""
        first, second = _CALL.unpack_from(self.text)
        return first, second

    @property
    def digests(self) -> bytes:
        """What follows them."""
        return self.text[_CALL.size :]


def call_text(number: int, which: int, digests: bytes = b"") -> bytes:
    """The text of a call's frame."""
    return _CALL.pack(number, which) + digests


class FrameWriter:
    """A record being written, for its owner only. Once `limit` bytes are reached, or the disk is full, it takes no more and says why.

    A process that is forked off takes none either: it is not the rank.
    """

    def __init__(self, path: Path, limit: int) -> None:
        _make_private(path.parent)
        self.path, self.limit, self.size, self.stopped = path, limit, 0, ""
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._room = Room(self._descriptor)
        os.register_at_fork(after_in_child=self._leave)
        self._write([MAGIC], len(MAGIC))

    def write(self, kind: bytes, text: bytes, bodies: Sequence[bytes | memoryview] = ()) -> int:
        """Add a frame, its body in parts that count bytes; where its body begins."""
        if self.stopped:
            return self.size
        length = 0
        for part in bodies:
            length += len(part)
        if self.size + length > self.limit:
            self._stop(f"it had reached its limit of {self.limit} bytes")
            return self.size
        lengths = _pack_head(kind, len(text), length)
        found = _crc32(text, _crc32(lengths))
        if kind not in _DIGESTED:
            for part in bodies:
                found = _crc32(part, found)
        parts = [lengths, _pack_sum(found), text, *bodies]
        at = self.size + _HEAD.size + _SUM.size + len(text)
        try:
            self._write(parts, at - self.size + length)
        except OSError as error:
            self._stop(f"the disk took no more: {error.strerror}")
        return at

    def write_json(self, kind: bytes, value: object) -> None:
        """Add a frame whose text is JSON."""
        self.write(kind, json.dumps(value).encode())

    def close(self) -> None:
        """Nothing more will come: give back the room that was taken for it."""
        if not self.stopped:
            self._room.give_back(self.size)

    def _write(self, parts: Sequence[bytes | memoryview], length: int) -> None:
        if self.size + length > self._room.end:
            self._room.grow(self.size + length, self.limit)
        if length <= _JOINED:
            done = os.write(self._descriptor, b"".join(parts))
        else:
            done = os.writev(self._descriptor, parts)
        self.size += done
        if self.size > self._room.full:
            self._room.forget(self.size)
        if done == length:
            return
        left = memoryview(b"".join(parts))[done:]
        while left:
            done = os.write(self._descriptor, left)
            self.size += done
            left = left[done:]

    def _stop(self, why: str) -> None:
        """Say in the record itself why it ends here: that fits where the call did not."""
        text = json.dumps({"why": why}).encode()
        lengths = _pack_head(STOPPED, len(text), 0)
        parts = [lengths, _pack_sum(_checksum(STOPPED, lengths, text, [])), text]
        self._room.give_back(self.size)
        try:
            self._write(parts, sum(map(len, parts)))
        except OSError:
            os.ftruncate(self._descriptor, self.size)
        self.stopped = why

    def _leave(self) -> None:
        self.stopped = "another process"


def _checksum(kind: bytes, lengths: bytes, text: bytes, bodies: Sequence[bytes | memoryview]) -> int:
    found = zlib.crc32(text, zlib.crc32(lengths))
    for body in () if kind in _DIGESTED else bodies:
        found = zlib.crc32(body, found)
    return found


def _make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, for their owner only."""
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def read_frames(path: Path) -> Iterator[Frame]:
    """Every whole frame of a record. Raises ValueError for a file that is none or was changed, OSError for one that cannot be read."""
    import mmap

    with path.open("rb") as stream:
        if (begins := stream.read(len(MAGIC))) != MAGIC:
            if other := _ANY_MAGIC.match(begins):
                raise ValueError(
                    f"{path} is a record of version {other[1].decode()}, and this tt-run reads version {_version()}: record the run again"
                )
            raise ValueError(f"{path} is no record of tt-run")
        whole = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    at = len(MAGIC)
    while at + _HEAD.size + _SUM.size <= len(whole):
        begun = at
        lengths = bytes(whole[at : at + _HEAD.size])
        kind, text, body = _HEAD.unpack(lengths)
        (told,) = _SUM.unpack_from(whole, at + _HEAD.size)
        start = at + _HEAD.size + _SUM.size + text
        at = start + body
        # Of what a call gave the text is enough to tell a record that was cut from a length that was changed.
        if at > len(whole) and (kind not in _DIGESTED or start > len(whole)):
            return
        frame = Frame(kind, bytes(whole[start - text : start]), whole[start:at], start)
        if _checksum(kind, lengths, frame.text, [frame.body]) != told:
            raise Damaged(
                f"{path} is damaged: what begins at byte {begun} is not as it was written (its checksum is another)"
            )
        if at > len(whole):
            return
        yield frame


def _version() -> str:
    found = _ANY_MAGIC.match(MAGIC)
    assert found is not None
    return found[1].decode()
