"""For the verbs that change files: writing back, and showing what would change."""

from __future__ import annotations

import os
import shlex
import tempfile
from difflib import unified_diff
from pathlib import Path


def is_yaml(word: str) -> bool:
    return word.endswith((".yaml", ".yml"))


def what_yaml_holds(word: str) -> str:
    """Why a YAML file is not rewritten, with what to do instead. Raises UnreadableError."""
    from mgd.files import read_bytes
    from mgd.v1.recognition import is_first_format

    if is_first_format(read_bytes(word)):
        return "it is MGD 1.0 YAML (mgd convert makes a textproto of it)"
    return f"it holds no descriptor (mgd check {shlex.quote(word)} says what it is)"


def difference(old: str, new: str, name: str) -> str:
    """The change as a unified diff that `patch` takes."""
    lines = unified_diff(old.splitlines(True), new.splitlines(True), name, name)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def write_back(name: str, text: str) -> None:
    """Replace a file's content at once, so that an interruption leaves the old or the new one; its mode stays.

    A symbolic link keeps pointing where it did. Raises OSError.
    """
    path = Path(name).resolve()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        Path(temporary).chmod(path.stat().st_mode & 0o7777)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
