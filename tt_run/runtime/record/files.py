"""Files that a replayed program reads. A record does not keep them: where a replay differs, those that were written since are named."""

from __future__ import annotations

import os
import sys
from typing import Any

_TOLD = 4
_NOT_THE_PROGRAMS = ("/proc/", "/dev/", "/sys/", sys.prefix + os.sep, sys.base_prefix + os.sep)
_changed: dict[str, None] = {}
_written: set[str] = set()


def watch(since: float) -> None:
    """Remember, from now on, files that are opened for reading and were written after a moment, other than by this process."""

    def heard(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[0], str):
            _look(args[0], args[2], since)
        elif event == "os.rename" and isinstance(args[1], str):
            _written.add(os.path.abspath(args[1]))  # noqa: PTH100

    sys.addaudithook(heard)


def _look(name: str, flags: Any, since: float) -> None:
    path = os.path.abspath(name)  # noqa: PTH100 - it may be any text
    if path.startswith(_NOT_THE_PROGRAMS) or path.endswith((".pyc", ".record")):
        return
    if isinstance(flags, int) and flags & os.O_ACCMODE != os.O_RDONLY:
        _written.add(path)
        return
    try:
        is_later = os.stat(path).st_mtime > since  # noqa: PTH116
    except (OSError, ValueError):
        return
    if is_later and path not in _written:
        _changed[path] = None


def changed_files() -> str:
    """A line that names them; empty where there is none."""
    if not _changed:
        return ""
    names = [os.path.relpath(path) for path in _changed]
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return f"  files are read as they are now, and these were written after the run began: {', '.join(names[:_TOLD])}{more}\n"
