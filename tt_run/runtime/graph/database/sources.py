"""The program's files that stacks of calls name: kept in a report, so that it can be read on another machine.

Source: reference library 0.81.1, which reads files alone that a program on this machine can have loaded.
"""

from __future__ import annotations

import os
import re
import site
import sqlite3
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

_LINE = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)
_FIRST = re.compile(r'^\s*(?:File "(?P<of_python>[^"]+)", line \d+, in |(?P<plain>[^:\n]+):\d+(?::\d+)?\s*$)', re.MULTILINE)  # fmt: skip
Stack = tuple[int, str, str | None]


def innermost(stack: str) -> tuple[str | None, int | None]:
    """File and line of the call that is told first, which is the innermost."""
    found = _LINE.search(stack)
    return (found[1], int(found[2])) if found else (None, None)


def sources(stacks: Iterable[tuple[int, str]]) -> tuple[list[tuple[str, str]], list[Stack]]:
    """The files of the innermost calls with what is in them, and each stack with its file; None for one that cannot be read."""
    files: dict[str, str] = {}
    listed: list[Stack] = []
    for operation, stack in stacks:
        path, text = _read(innermost(stack)[0])
        if path is not None and text is not None:
            files[path] = text
        listed.append((operation, stack, path))
    return list(files.items()), listed


@lru_cache(maxsize=256)
def _read(path: str | None) -> tuple[str | None, str | None]:
    """A file of Python text, which is all that a stack of a program can name."""
    if path is None or not path.endswith(".py"):
        return None, None
    place = normalize_existing_source_file_path(path)
    return (None, None) if place is None else (place, read_source_file(place))


def extract_stack_trace_file(stack_trace_text: str | None) -> str | None:
    """The first file that a stack names, as Python writes it or as `path:line`."""
    found = _FIRST.search(stack_trace_text or "")
    return None if found is None else found["of_python"] or found["plain"]


def normalize_source_path_from_stack_trace(stack_trace_text: str | None) -> str | None:
    """That file's place, if it is there and may be read."""
    return normalize_existing_source_file_path(extract_stack_trace_file(stack_trace_text))


def normalize_existing_source_file_path(file_path: str | None) -> str | None:
    """Where a file really is; None for what is no file, or lies where no program of this machine is loaded from."""
    if not isinstance(file_path, str) or not file_path.strip() or "\0" in file_path:
        return None
    place = Path(os.path.realpath(Path(file_path.strip()).expanduser()))
    try:
        readable = place.is_file() and any(place.is_relative_to(root) for root in _roots())
    except OSError:
        return None
    return str(place) if readable else None


def _roots() -> Iterator[Path]:
    """The folders that programs are loaded from; never all of the machine."""
    named = [
        str(Path.cwd()),
        str(Path.home()),
        sys.prefix,
        sys.base_prefix,
        os.environ.get("VIRTUAL_ENV", ""),
    ]
    named += [tempfile.gettempdir(), site.getusersitepackages(), *site.getsitepackages(), *sys.path]
    named += map(str, Path(__file__).parents)
    for each in named:
        place = Path(os.path.realpath(each)) if each else None
        if place is not None and place != Path(place.anchor):
            yield place


def read_source_file(normalized_path: str) -> str | None:
    """The text of a file, None where it may not be read."""
    place = normalize_existing_source_file_path(normalized_path)
    if place is None:
        return None
    try:
        return Path(place).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def get_source_file_id(cursor: sqlite3.Cursor, path: str, contents: str) -> int:
    """The number of a file in the table `source_files`, which gets it unless it has it."""
    cursor.execute("INSERT OR IGNORE INTO source_files (path, contents) VALUES (?, ?)", (path, contents))
    (number,) = cursor.execute("SELECT id FROM source_files WHERE path = ?", (path,)).fetchone()
    return int(number)
