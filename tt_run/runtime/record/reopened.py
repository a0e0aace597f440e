"""Files that a replayed program reads, as the record has them; what it has no content of and is another by now is named."""

from __future__ import annotations

import errno
import os
import sys
import sysconfig
import threading
import zlib
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from tt_run.runtime import events
from tt_run.runtime.record import file_system_calls
from tt_run.runtime.record.file_system_calls import OPEN, STAT
from tt_run.runtime.record.files import (
    ABSENT,
    AGAIN,
    KEPT,
    LEFT,
    MISSING,
    NAMES,
    SEEN,
    Told,
    name_of,
)

_TOLD = 4
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_changed: dict[str, None] = {}
_written: set[str] = set()
_asked: dict[str, None] = {}


class Reopened:
    """The openings of each file in their order."""

    def __init__(
        self, since: float, unchanged: Callable[[], bool], here: Callable[[str], str] = lambda path: path
    ) -> None:
        self._since, self._unchanged, self._here = since, unchanged, here
        self._openings: dict[tuple[str, str], deque[tuple[Told, bytes]]] = defaultdict(deque)
        self._lock, self._process = threading.Lock(), os.getpid()

    def add(self, told: Told, data: bytes) -> None:
        """An opening of the record."""
        path = str(told["path"])
        if told["how"] == AGAIN and self._openings[path, AGAIN]:
            told, data = self._openings[path, AGAIN][-1]
        self._openings[path, _kind(told)].append((told, data))

    def opens(self, file: Any) -> Callable[[Any], int] | None:
        """What the program reads in the place of a file, None where it is as it was."""
        if isinstance(file, str) and (there := self._here(file)) != file:
            return lambda _: os.open(there, os.O_RDONLY | os.O_CLOEXEC)
        path, found = self._next(file, AGAIN)
        if not path:
            return None
        if found is None:  # not in the record, as of a program that was changed
            if path not in _written and _is_later(path, self._since):
                _changed[path] = None
            return None
        return self._instead(path, *found)

    def stat(self, path: Any) -> os.stat_result:
        """What a file was like in the run."""
        _, found = self._next(path, SEEN)
        if found is None:
            return STAT(path)
        told = found[0]
        if told["how"] == ABSENT:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        try:
            now: os.stat_result | None = STAT(path)
        except OSError:
            now = None
        size, changed = told["size"], told["changed"]
        if now is not None and (now.st_size, now.st_mtime_ns) == (size, changed):
            return now
        return _as_it_was(now, told["mode"], size, changed)

    def names(self, path: Any, list_: Callable[[], list[str]]) -> list[str]:
        """The names that a folder had in the run."""
        _, found = self._next(path, NAMES)
        if found is None:
            return list_()
        recorded = found[0]["names"]
        if recorded is None:
            _missing(path)
        with suppress(OSError):
            list_()  # what is there still is told apart from what is not
        return list(recorded)

    def _next(self, file: Any, kind: str) -> tuple[str, tuple[Told, bytes] | None]:
        """The whole name of a file, and what the record has of it now."""
        path = name_of(file) if os.getpid() == self._process else ""
        if not path:
            return "", None
        with self._lock:
            queue = self._openings.get((path, kind))
            found = queue.popleft() if queue else None
        if found is not None and path in _written and not self._unchanged():
            return path, None
        return path, found

    def _instead(self, path: str, told: Told, data: bytes) -> Callable[[Any], int] | None:
        if told["how"] == MISSING:
            return _missing if os.path.lexists(path) else None
        if told["how"] == KEPT:
            content = zlib.decompress(data)
            return None if _content(path, len(content)) == content else lambda _: _descriptor(content)
        if told["how"] == LEFT and path not in _written and _facts(path) != (told["size"], told["changed"]):
            _changed[path] = None
        return None


def watch() -> None:
    """Remember, from now on, which files this process writes."""

    def heard(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[0], str):
            flags = args[2]
            if isinstance(flags, int) and flags & os.O_ACCMODE != os.O_RDONLY:
                _written.add(os.path.abspath(args[0]))  # noqa: PTH100
        elif event == "os.rename" and isinstance(args[1], str):
            _written.add(os.path.abspath(args[1]))  # noqa: PTH100
        elif event in _OUTSIDE and len(_asked) < _TOLD and (site := _users_site()):
            _asked[f"{_OUTSIDE[event](args)} ({site})"] = None

    sys.addaudithook(heard)


def _users_site() -> str:
    """`file:line` of the program; empty for what a library asks by itself."""
    frame = events.user_frame(2)
    while frame is not None and frame.f_code.co_filename.startswith(("<frozen", _STANDARD)):
        frame = frame.f_back
    if frame is None or events.is_library(frame.f_code.co_filename):
        return ""
    return f"{os.path.relpath(frame.f_code.co_filename)}:{frame.f_lineno}"


def _name_of_process(args: tuple[Any, ...]) -> str:
    words = args[1]
    first = args[0] or (words if isinstance(words, (str, bytes, os.PathLike)) else next(iter(words), ""))
    return os.path.basename(os.fsdecode(first))  # noqa: PTH119


_OUTSIDE: dict[str, Callable[[tuple[Any, ...]], str]] = {
    "subprocess.Popen": _name_of_process,
    "os.system": lambda args: os.fsdecode(args[0]).split()[0] if args[0] else "a shell",
    "socket.connect": lambda args: "a connection",
}
"""What a program asks that is in no record, by the interpreter's names, and what to call it."""


def asked_outside() -> str:
    """A line that names what the program has asked of processes and connections, which say now what they like; empty where nothing."""
    if not _asked:
        return ""
    return f"  what processes and connections say is not in the record, and the program has asked {', '.join(_asked)}\n"


def changed_files() -> str:
    """A line that names files which were read and are others than in the run; empty where there is none."""
    if not _changed:
        return ""
    names = [os.path.relpath(path) for path in _changed]
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return f"  files are read as they are now, and these are others than in the run: {', '.join(names[:_TOLD])}{more}\n"


def install(reopened: Reopened) -> None:
    """Let the program of this process read what it read in the run."""
    watch()
    file_system_calls.install(reopened)


def _kind(told: Told) -> str:
    how = str(told["how"])
    return SEEN if how == ABSENT else how if how in (SEEN, NAMES) else AGAIN


def _as_it_was(now: os.stat_result | None, mode: int, size: int, changed: int) -> os.stat_result:
    """A file's facts with those of the record."""
    seconds = changed // 10**9
    own = seconds + 1e-9 * (changed % 10**9)  # as the interpreter rounds it
    ino, dev, links, user, group = now[1:6] if now is not None else (0, 0, 1, os.getuid(), os.getgid())
    return os.stat_result(
        (mode, ino, dev, links, user, group, size, *3 * (seconds,), *3 * (own,), *3 * (changed,))
    )


def _missing(path: Any) -> NoReturn:
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))


def _descriptor(content: bytes) -> int:
    """A file in memory."""
    found = os.memfd_create("tt-run-replay")
    view = memoryview(content)
    while view:
        view = view[os.write(found, view) :]
    os.lseek(found, 0, os.SEEK_SET)
    return found


def _content(path: str, size: int) -> bytes | None:
    try:
        if STAT(path).st_size != size:
            return None
        with OPEN(path, "rb") as stream:
            return stream.read()
    except (OSError, ValueError):
        return None


def _facts(path: str) -> tuple[int, int] | None:
    try:
        found = STAT(path)
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns


def _is_later(path: str, since: float) -> bool:
    found = _facts(path)
    return found is not None and found[1] > since * 1e9 and not os.path.isdir(path)  # noqa: PTH112
