"""From the words of a command line to descriptors: paths, directories, standard input, names of systems."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mgd.lean import replace

if TYPE_CHECKING:
    from mgd.descriptor import Descriptor

STDIN = "-"
STDIN_NAME = "<stdin>"


class WrongUsage(Exception):
    """Words of the command line that cannot be meant, with `help`, what to type instead. Exit code 2."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


def expand_words(words: Iterable[str], *, systems: bool = True) -> Iterator[str]:
    """The file names that the words stand for: files as they are, folders by their descriptors, systems by their file.

    A folder gives every `*.textproto` below it and the YAML files that are named like descriptors or hold one, sorted.
    Without `systems` names of systems mean nothing: verbs that write do not touch what ships. Raises WrongUsage
    for a folder without descriptors.
    """
    for word in words:
        path = Path(word)
        if word in (STDIN, ""):
            yield word
        elif _is_dir(path):
            found = sorted(str(each) for each in _below(path))
            if not found and not os.access(path, os.R_OK | os.X_OK):
                raise WrongUsage(f"the folder {word} may not be read", f"ls -ld {word} says who may")
            if not found:
                raise WrongUsage(
                    f"there is no descriptor (*.textproto) in the folder {word}",
                    "name a descriptor; mgd new --shape 2x4 writes one",
                )
            yield from found
        else:
            yield (_system_file(word) if systems else None) or word


def load_text(word: str) -> tuple[str, str]:
    """(text, name) of one input that is to be rewritten. Raises UnreadableError; ParseError for bytes that are no text."""
    from mgd.files import as_source, read_bytes

    name = STDIN_NAME if word == STDIN else word
    with _copy_hint(word):
        data = read_stdin() if word == STDIN else read_bytes(word)
    source, warnings = as_source(data, name)
    if warnings:  # bytes that are not UTF-8 could not be written back as they were
        from mgd.errors import ParseError

        raise ParseError(warnings)
    return source.text, name


def read_input(word: str) -> tuple[bytes, str]:
    """(content, name) of one input as it is. Raises UnreadableError."""
    from mgd.files import read_bytes

    if word == STDIN:
        return read_stdin(), STDIN_NAME
    name = _system_file(word) or word
    with _system_hint(word):
        return read_bytes(name), name


def read_stdin() -> bytes:
    """All of standard input."""
    return sys.stdin.buffer.read()


def load_input(word: str, stdin: bytes | None = None) -> Descriptor:
    """The descriptor of one input; `stdin` is what was read from standard input, if it was; on standard input, which has no name, MGD 1.0 is told by its sections.

    Raises UnreadableError and ParseError.
    """
    from mgd.reading import load, loads

    if word != STDIN:
        with _system_hint(word):
            return load(_system_file(word) or word)
    data = read_stdin() if stdin is None else stdin
    if b"ChipSpec" in data or b"Board" in data:
        from mgd.v1.reading import loads as loads_v1
        from mgd.v1.recognition import is_first_format

        if is_first_format(data):
            return loads_v1(data, file=STDIN_NAME)
    return loads(data, file=STDIN_NAME)


_NOT_SEARCHED = ("node_modules", "site-packages", "__pycache__")


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a name that no file can have: reading it says so
        return False


def _below(folder: Path) -> Iterator[Path]:
    """The descriptors in a folder and those below it, but for what is hidden or installed there by other tools."""
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".") and each not in _NOT_SEARCHED]
        for path in (Path(place, name) for name in names):
            if path.suffix == ".textproto" or (path.suffix in (".yaml", ".yml") and _is_old_descriptor(path)):
                yield path


def _is_old_descriptor(path: Path) -> bool:
    """True for a YAML file that is named like a descriptor or that has its sections; other YAML lies beside descriptors."""
    if "mesh_graph_descriptor" in path.name or path.stem == "mgd":
        return True
    from mgd.errors import UnreadableError
    from mgd.files import read_bytes
    from mgd.v1.recognition import is_first_format

    try:
        return path.is_file() and is_first_format(read_bytes(str(path)))
    except (OSError, UnreadableError):
        return False


@contextmanager
def _system_hint(word: str) -> Iterator[None]:
    """Let an error about a file that is not there name the systems that may have been meant."""
    from mgd.errors import UnreadableError
    from mgd.files import CHECK_PATH

    try:
        yield
    except UnreadableError as error:
        near = _near_systems(word)
        if not near and not _is_name(word):
            raise
        told = [each.help for each in error.diagnostics]
        help = (
            "`mgd systems` lists the names of systems" if near or told[0].startswith(CHECK_PATH) else told[0]
        )
        help = f"did you mean the system {near}? {help}" if near else help
        raise UnreadableError(replace(each, help=help) for each in error.diagnostics) from None


@contextmanager
def _copy_hint(word: str) -> Iterator[None]:
    """Let an error about a file that is not there say how to have a shipped system as a file that may be written."""
    from mgd.errors import UnreadableError

    try:
        yield
    except UnreadableError as error:
        if _system_file(word) is None:
            raise
        help = f"the system {word} comes with mgd and stays as it is: mgd new --system {word} -o {word}.textproto writes one of your own"
        raise UnreadableError(replace(each, help=help) for each in error.diagnostics) from None


def _near_systems(word: str) -> str:
    """Systems with a name like the word."""
    if not _is_name(word):
        return ""
    from mgd.systems import UnknownSystem, find

    try:
        find(word)
    except UnknownSystem as unknown:
        return " or ".join(unknown.nearest)
    return ""


def _system_file(word: str) -> str | None:
    """The file of a shipped system, for a word that looks like a name and is not a file."""
    if not _is_name(word):
        return None
    from mgd.systems import UnknownSystem, find

    try:
        return str(find(word).path)
    except UnknownSystem:
        return None


def _is_name(word: str) -> bool:
    """True for a word that looks like the name of a system and is not a file."""
    if not word or "/" in word or "." in word:
        return False
    try:
        os.stat(word)  # noqa: PTH116 - Path.exists says no to names that no file can have, since Python 3.14
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False
