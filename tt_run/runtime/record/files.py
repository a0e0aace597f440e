"""Files that the program reads: what small ones said in the run they say in a replay, whoever has written them since.

What Python opens for reading alone counts (`open`, `pathlib`, `os.open`, and NumPy and PyTorch through them), each file's openings in
their order; whether a file was there, its size and time (`os.stat`, `exists`, …), and the names in a folder likewise. Of a large file, of one whose name looks like a secret, and of those beyond what a record takes altogether, size and time
of change are kept, and a replay that finds others names the file.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tt_run import contract
from tt_run.runtime import launched
from tt_run.runtime.record.file_system_calls import OPEN, STAT

LARGEST, MOST = 1 << 20, 1 << 26
"""Bytes of a file whose content is kept, and of all of them."""
MOST_NAMES = 1000
"""Names in a folder that are kept."""
KEPT, AGAIN, LEFT, MISSING = "kept", "again", "left", "missing"
"""How a record has a file that is opened: with its content, as it was at the opening before, without content, and not there."""
SEEN, ABSENT, NAMES = "seen", "absent", "names"
"""A file that was asked for and there, one that was not, and a folder's names."""

_PACKAGE = Path(__file__).resolve().parents[2]
_OURS = tuple(str(_PACKAGE.with_name(name)) + os.sep for name in (_PACKAGE.name, "mgd", "configs"))
_NOT_THE_PROGRAMS = (
    "/proc/", "/dev/", "/sys/", "/etc/", "/usr/", "/run/", *_OURS, sys.prefix + os.sep, sys.base_prefix + os.sep,
)  # fmt: skip
_NO_DATA = (".py", ".pyc", ".so", ".record")
_SECRET = re.compile(
    r"/\.(?!\.?/)|(^|[/._-])(token|secrets?|passw\w*|credentials?|cookies?|id_(?:rsa|dsa|ecdsa|ed25519))($|[/._-])|\.(pem|key)$",
    re.IGNORECASE,
)
Told = dict[str, Any]
Hand = Callable[[Told, bytes], None]


def name_of(file: Any) -> str:
    """The whole name of what a program opens; empty for what is no file of the program's, as sources and devices."""
    try:
        path = os.path.abspath(os.fsdecode(file))  # noqa: PTH100 - it may be any text
    except (TypeError, ValueError):  # a descriptor
        return ""
    return "" if path.startswith(_NOT_THE_PROGRAMS) or path.endswith(_NO_DATA) else path


class Read:
    """The files of a program that is recorded, handed over as they are opened."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Told, bytes]] = []
        """What was opened before there was a record."""
        self.paused = False
        """Whether it is not the program that asks."""
        self.hand: Hand = lambda told, data: self.waiting.append((told, data))
        self._last: dict[str, tuple[int, ...]] = {}
        self._room, self._lock, self._process = MOST, threading.Lock(), os.getpid()
        self._own = tuple(
            os.path.abspath(folder) + os.sep  # noqa: PTH100
            for folder in (launched.variables.get(contract.RUN_DIR), launched.variables.get(contract.RECORD))
            if folder
        )

    def opens(self, file: Any) -> Any:
        """The program is about to read a file. Gives None: it reads the file itself."""
        path = self._name_of(file)
        found = self._look(path) if path else None
        if found is not None:  # not under the lock: who writes it down has one, too
            self.hand(*found)

    def stat(self, path: Any) -> os.stat_result:
        """What a file is like now, and in the record."""
        name = self._name_of(path)
        try:
            found = STAT(path)
        except OSError:
            if name:
                self.hand({"path": name, "how": ABSENT}, b"")
            raise
        if name:
            told = {
                "path": name,
                "how": SEEN,
                "mode": found.st_mode,
                "size": found.st_size,
                "changed": found.st_mtime_ns,
            }
            self.hand(told, b"")
        return found

    def names(self, path: Any, list_: Callable[[], list[str]]) -> list[str]:
        """The names in a folder now, and in the record."""
        name = self._name_of(path)
        try:
            found = list_()
        except OSError:
            if name:
                self.hand({"path": name, "how": NAMES, "names": None}, b"")
            raise
        if name and len(found) <= MOST_NAMES:
            self.hand({"path": name, "how": NAMES, "names": found}, b"")
        return found

    def _name_of(self, file: Any) -> str:
        path = "" if self.paused else name_of(file)
        return "" if path.startswith(self._own) or os.getpid() != self._process else path

    def _look(self, path: str) -> tuple[Told, bytes] | None:
        with self._lock:
            return self._found(path)

    def _found(self, path: str) -> tuple[Told, bytes] | None:
        try:
            found = STAT(path)
        except (OSError, ValueError):
            self._last.pop(path, None)
            return {"path": path, "how": MISSING}, b""
        if found.st_mode & 0o170000 != 0o100000:
            return None
        told: Told = {"path": path, "how": LEFT, "size": found.st_size, "changed": found.st_mtime_ns}
        seen = found.st_ino, found.st_size, found.st_mtime_ns
        data = b""
        if self._last.get(path) == seen:
            told["how"] = AGAIN
        elif found.st_size <= min(LARGEST, self._room) and not _SECRET.search(path):
            try:
                with OPEN(path, "rb") as stream:
                    data = zlib.compress(stream.read(), 1)
                told["how"] = KEPT
                self._room -= found.st_size
            except OSError:
                pass
        self._last[path] = seen
        return told, data
