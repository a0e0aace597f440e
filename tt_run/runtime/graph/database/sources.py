"""The program's files that stacks of calls name: kept in a report, so that it can be read on another machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

_LINE = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)
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
    if path is None:
        return None, None
    file = Path(path)
    try:
        if file.suffix == ".py" and file.is_file():
            return str(file.resolve()), file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        pass
    return None, None
