"""The live console: what ranks write into their log files, shown line by line with the rank in front."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from mgd.lean import dataclass, field
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.options import Tee
from tt_run.supervise.output.echoes import Echoes
from tt_run.supervise.output.guard_words import GuardWords
from tt_run.supervise.output.outlet import Outlet

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import BinaryIO

CHUNK = 1 << 16
AT_ONCE = 1 << 20  # bytes of a stream that one call shows: signals and deadlines are looked at in between
LONGEST_LINE = 1 << 26  # bytes of a line that are kept until its end comes
RANK_COLOURS = (
    36,
    33,
    35,
    32,
    34,
    95,
    94,
)  # of a terminal, without the bright ones that a light background swallows; red is for errors
RANK_STYLES = ("", "4;", "3;", "3;4;")  # of the ranks that take a colour once more: underlined, slanted, both
LONGEST_ORDER = 1 << 22  # bytes of the file that says in which order the logs grew
TAKEN_SECONDS = 0.1  # what whoever reads gets for taking it, before signals and deadlines are looked at again
PARTIAL_SECONDS = 1.0  # an unfinished line, such as a prompt, is shown after this long


def rank_tint(rank: int) -> str:
    """How a rank's mark looks, the same in every run: no two of 28 ranks in a row look alike."""
    round, place = divmod(rank, len(RANK_COLOURS))
    return f"{RANK_STYLES[round % len(RANK_STYLES)]}{RANK_COLOURS[place]}"


@dataclass()
class _Stream:
    rank: int
    is_error: bool
    path: Path
    prefix: bytes
    sink: BinaryIO | Outlet | None  # None: not shown, but growth still counts as a sign of life
    offset: int = 0
    size: int = 0  # as of the last look
    partial: list[bytes] = field(default_factory=list)  # the beginning of a line whose end has not come
    partial_bytes: int = 0
    partial_since: float = 0.0


@dataclass()
class Console:
    """Follows the log files of the ranks; `pump` is called as often as the console is to be up to date.

    A line is written in one piece, so lines of two ranks never mix; an unfinished last line gets its line end.
    """

    folder: RunFolder
    size: int
    tee: Tee
    out: BinaryIO | Outlet
    err: BinaryIO | Outlet
    clock: Callable[[], float]
    colour: bool = False
    prefixes: bool = True
    shown_bytes: int = 0
    behind: bool = False  # the last call has left something for the next
    last_shown: int | None = None  # the rank whose words are the last on the screen
    echoes: Echoes | None = field(
        default_factory=Echoes
    )  # None: a traceback is shown as often as it is printed
    guard_words: GuardWords = field(default_factory=GuardWords)
    order: BinaryIO | None = None  # where to write in which order the logs grew: lines RANK STREAM SIZE
    _ordered: int = 0
    _streams: list[_Stream] = field(default_factory=list)
    _broken: list[BinaryIO | Outlet] = field(default_factory=list)  # what takes no more

    def __post_init__(self) -> None:
        if not self.prefixes:
            self.echoes = None
        width = len(str(self.size - 1))
        for rank in range(self.size):
            mark = f"[{rank:>{width}}] " if self.prefixes else ""
            plain = mark.encode()
            tinted = f"\x1b[{rank_tint(rank)}m{mark}\x1b[0m".encode() if self.colour and mark else plain
            for error, path, sink in (
                (False, self.folder.out(rank), self.out),
                (True, self.folder.err(rank), self.err),
            ):
                shown = sink if self.tee.shows(rank, error) else None
                self._streams.append(_Stream(rank, error, path, tinted, shown))

    def pump(self, final: bool = False) -> bool:
        """Shows what is new, at most AT_ONCE of each stream; with `final` also lines that have not ended, once nothing else is left.

        True when any rank has written something, shown or not.
        """
        any_new = self.behind = False
        full = [sink for sink in (self.out, self.err) if self._is_full(sink)]
        for stream in self._streams:
            try:
                size = stream.path.stat().st_size
            except OSError:
                continue
            any_new = any_new or size > stream.size
            stream.size = size
            if stream.sink in full:  # it stays in its log until somebody takes what has been shown
                continue
            if size > stream.offset:
                self._read(stream, size)
                self._put_down(stream)
            if size > stream.offset:
                self.behind = True
            elif stream.partial and (final or self.clock() - stream.partial_since > PARTIAL_SECONDS):
                self._show_partial(stream, b"\n")
        self.behind = self.behind or bool(full)
        self._show_due(final and not self.behind)
        self.behind = self.behind or any(
            isinstance(sink, Outlet) and sink.behind for sink in (self.out, self.err)
        )
        return any_new

    @property
    def taken(self) -> int:
        """Bytes that whoever reads has taken so far, as far as that is known."""
        return sum(sink.taken for sink in (self.out, self.err) if isinstance(sink, Outlet))

    def _is_full(self, sink: BinaryIO | Outlet) -> bool:
        """Whether nobody takes what was written there before."""
        if not (isinstance(sink, Outlet) and sink.behind):
            return False
        try:
            sink.flush(TAKEN_SECONDS)
        except (OSError, ValueError) as error:
            self._give_up(sink, error)
        return sink.behind

    def show_in_order(self, order: bytes) -> None:
        """Shows whole lines in the order in which the logs grew, as `order` has it; what is missing there comes with the next `pump`."""
        streams = {(stream.rank, int(stream.is_error)): stream for stream in self._streams}
        for line in order.splitlines():
            try:
                rank, number, size = map(int, line.split())
                self._read(streams[rank, number], min(size, streams[rank, number].path.stat().st_size))
            except (
                ValueError,
                KeyError,
                OSError,
            ):  # the file was cut off, or the folder belongs to another run
                continue

    def _put_down(self, stream: _Stream) -> None:
        """Notes that a log has grown; a file that cannot be written, or is long enough, takes no more."""
        if self.order is None or self._ordered > LONGEST_ORDER:
            return
        try:
            self._ordered += self.order.write(b"%d %d %d\n" % (stream.rank, stream.is_error, stream.offset))
            self.order.flush()
        except OSError:
            self.order = None

    def skip_to_end(self) -> None:
        """Leaves out what has not been shown yet, and says so; the logs hold it."""
        for stream in self._streams:
            with suppress(OSError):
                left = stream.path.stat().st_size - stream.offset
                if left > 0 and stream.sink is not None:
                    self._show_partial(stream, b"\n" if stream.partial else b"")
                    self._write(stream, b"tt-run: %d bytes more in %s\n" % (left, os.fsencode(stream.path)))
                stream.offset += max(0, left)

    def _read(self, stream: _Stream, size: int) -> None:
        if stream.sink is None:
            stream.offset = size
            return
        with stream.path.open("rb") as source:
            source.seek(stream.offset)
            until = min(size, stream.offset + AT_ONCE)
            while stream.offset < until:
                chunk = source.read(min(CHUNK, until - stream.offset))
                if not chunk:
                    break
                stream.offset += len(chunk)
                whole, separator, rest = chunk.rpartition(b"\n")
                if separator:
                    self._show_partial(stream, whole + b"\n")
                stream.partial.append(rest)
                stream.partial_bytes += len(rest)
                if stream.partial_bytes > LONGEST_LINE:
                    self._show_partial(stream, b"\n")
        stream.partial = [piece for piece in stream.partial if piece]
        stream.partial_since = self.clock()

    def _show_partial(self, stream: _Stream, rest: bytes) -> None:
        """Writes the kept beginning of a line and what follows it, which ends with a line end."""
        text = b"".join((*stream.partial, rest))
        stream.partial, stream.partial_bytes = [], 0
        if text:
            self._write(stream, text)

    def _write(self, stream: _Stream, lines: bytes) -> None:
        self.shown_bytes += len(lines)
        if stream.sink is None or stream.sink in self._broken:
            return
        if self.echoes is not None and stream.is_error:
            self._put_error(
                stream, self.guard_words.take(stream.rank, lines.splitlines(keepends=True), self.clock())
            )
            return
        self._put(stream, lines)

    def _put_error(self, stream: _Stream, lines: Sequence[bytes]) -> None:
        if self.echoes is not None:
            lines = self.echoes.take(stream.rank, lines, self.clock())
        self._put(stream, b"".join(lines))

    def _put(self, stream: _Stream, lines: bytes) -> None:
        if not lines:
            return
        self.last_shown = stream.rank
        text = (
            b"".join(stream.prefix + line for line in lines.splitlines(keepends=True))
            if stream.prefix
            else lines
        )
        self._send(stream.sink, text)

    def _show_due(self, final: bool) -> None:
        """What was held back since it might have been the traceback of another rank, or who has said the same."""
        if self.echoes is None:
            return
        freed = self.guard_words.due(self.clock(), final)
        for rank, lines in freed:
            self._put_error(self._errors_of(rank), lines)
        others, same = self.echoes.due(self.clock(), final)
        for rank, lines in others:
            self._put(self._errors_of(rank), b"".join(lines))
        if same:
            self._send(self.err, f"tt-run: {same}\n".encode())

    def release(self) -> None:
        """Shows what the guard has said to ranks, when no report is going to."""
        for rank, lines in self.guard_words.release():
            self._put_error(self._errors_of(rank), lines)
        self._show_due(True)

    def _errors_of(self, rank: int) -> _Stream:
        return next(stream for stream in self._streams if stream.is_error and stream.rank == rank)

    def _send(self, sink: BinaryIO | Outlet | None, text: bytes) -> None:
        if sink is None or sink in self._broken:
            return
        try:
            if isinstance(sink, Outlet):
                seconds = 0.0 if sink.behind else TAKEN_SECONDS
                sink.write(text)
                sink.flush(seconds)
            else:
                sink.write(text)
                sink.flush()
        except (OSError, ValueError) as error:
            self._give_up(sink, error)

    def _give_up(self, sink: BinaryIO | Outlet, error: Exception) -> None:
        """Nobody reads it, or a disk is full; the run goes on, its logs are complete."""
        self._broken.append(sink)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError) and sink is self.out:
            logs = self.folder.path
            said = f"tt-run: nothing more can be printed ({error.strerror}); the ranks go on, and {logs} has all of it\n"
            self._send(self.err, said.encode())


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
