"""The live console: what ranks write into their log files, shown line by line with the rank in front."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from mgd.lean import dataclass, field
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.options import Tee

CHUNK = 1 << 16
PARTIAL_SECONDS = 1.0  # an unfinished line, such as a prompt, is shown after this long


@dataclass()
class _Stream:
    path: Path
    prefix: bytes
    sink: BinaryIO | None  # None: not shown, but growth still counts as a sign of life
    offset: int = 0
    partial: bytes = b""
    partial_since: float = 0.0


@dataclass()
class Console:
    """Follows the log files of the ranks; `pump` is called as often as the console is to be up to date.

    A line is written in one piece, so lines of two ranks never mix; an unfinished last line gets its line end.
    """

    folder: RunFolder
    size: int
    tee: Tee
    out: BinaryIO
    err: BinaryIO
    clock: Callable[[], float]
    colour: bool = False
    prefixes: bool = True
    shown_bytes: int = 0
    _streams: list[_Stream] = field(default_factory=list)
    _broken: bool = False

    def __post_init__(self) -> None:
        width = len(str(self.size - 1))
        for rank in range(self.size):
            mark = f"[{rank:>{width}}] " if self.prefixes else ""
            plain = mark.encode()
            tinted = f"\x1b[2m{mark}\x1b[0m".encode() if self.colour and mark else plain
            for error, path, sink in (
                (False, self.folder.out(rank), self.out),
                (True, self.folder.err(rank), self.err),
            ):
                shown = sink if self.tee.shows(rank, error) else None
                self._streams.append(_Stream(path, tinted, shown))

    def pump(self, final: bool = False) -> bool:
        """Shows what is new; with `final` also lines that have not ended. True when any rank has written something, shown or not."""
        any_new = False
        for stream in self._streams:
            try:
                size = stream.path.stat().st_size
            except OSError:
                continue
            if size > stream.offset:
                any_new = True
                self._read(stream, size)
            if stream.partial and (final or self.clock() - stream.partial_since > PARTIAL_SECONDS):
                self._write(stream, stream.partial + b"\n")
                stream.partial = b""
        return any_new

    def _read(self, stream: _Stream, size: int) -> None:
        if stream.sink is None:
            stream.offset = size
            return
        with stream.path.open("rb") as source:
            source.seek(stream.offset)
            while stream.offset < size:
                chunk = source.read(min(CHUNK, size - stream.offset))
                if not chunk:
                    break
                stream.offset += len(chunk)
                whole, separator, rest = (stream.partial + chunk).rpartition(b"\n")
                if separator:
                    self._write(stream, whole + b"\n")
                stream.partial = rest
        stream.partial_since = self.clock()

    def _write(self, stream: _Stream, lines: bytes) -> None:
        self.shown_bytes += len(lines)
        if self._broken or stream.sink is None:
            return
        text = (
            b"".join(stream.prefix + line for line in lines.splitlines(keepends=True))
            if stream.prefix
            else lines
        )
        try:
            stream.sink.write(text)
            stream.sink.flush()
        except (OSError, ValueError):
            self._broken = True  # nobody reads us, or a disk is full; the run goes on, its logs are complete


def last_lines(path: Path, count: int, limit: int = 1 << 14) -> list[str]:
    """The last lines of a log, at most `limit` bytes of it."""
    try:
        with path.open("rb") as source:
            source.seek(0, os.SEEK_END)
            source.seek(max(0, source.tell() - limit))
            text = source.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    return [line.replace("\x00", "") for line in text.splitlines() if line.strip()][-count:]
