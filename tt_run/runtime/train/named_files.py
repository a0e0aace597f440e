"""Files that a program names: opened or refused with the file's name, what it was for, and what lies beside it."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Iterator
from pathlib import Path

from tt_run.runtime.errors import type_name


@contextlib.contextmanager
def naming_file(what: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """A block that reads or writes a file. Errors of the system are raised again, as what they are, in words: what the file was to be, and help."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{what} names a file, not {type_name(path)}; help: {what}='…'")
    try:
        yield
    except OSError as problem:
        why = (problem.strerror or str(problem)).lower()
        raise type(problem)(f"{what} {os.fspath(path)}: {why}{_help(Path(path), problem)}") from None


def _help(path: Path, problem: OSError) -> str:
    """A name that was meant perhaps, the folder that there is not, the file where a folder should be, or nothing."""
    if isinstance(problem, (FileExistsError, NotADirectoryError)):
        file = next((parent for parent in path.parents if parent.is_file()), None)
        return f"; help: {file} is a file, name a folder" if file else ""
    if isinstance(problem, IsADirectoryError):
        return "; help: name a file in it"
    if not isinstance(problem, FileNotFoundError):
        return ""
    folder = path.parent
    if not folder.is_dir():
        return f"; help: there is no folder {folder}"
    near = difflib.get_close_matches(path.name, [entry.name for entry in folder.iterdir()], n=1)
    return (
        f"; help: did you mean {folder / near[0]}?"
        if near
        else f"; help: there is no {path.name} in {folder}"
    )


def read_text(what: str, path: str | os.PathLike[str]) -> str:
    """A text in UTF-8. Raises OSError as `naming_file` does, ValueError with the place of what is none."""
    with naming_file(what, path):
        content = Path(path).read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise ValueError(
            f"{what} {os.fspath(path)}:{line}: byte {problem.start} is no UTF-8 text; help: iconv -t UTF-8"
        ) from None
