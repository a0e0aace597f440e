"""Writing the files that a plan derives: whole or not at all, and one launcher at a time in a folder.

A folder is named after its inputs and its text follows from them, so what is there is either missing or right; a file of other text was
edited, or written by another version, and is replaced.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tt_run.launch.locks import take_lock
from tt_run.plan.model import GeneratedFile


def write_generated(files: Sequence[GeneratedFile]) -> None:
    """Bring every file to its text. Raises OSError when a folder cannot be written."""
    folders: dict[Path, list[GeneratedFile]] = {}
    for file in files:
        folders.setdefault(file.path.parent, []).append(file)
    for folder, own in folders.items():
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            for file in own:
                _replace(file)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        take_lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _replace(file: GeneratedFile) -> None:
    data = file.text.encode()
    try:
        if file.path.read_bytes() == data:
            return
    except OSError:
        pass
    # Processes of other hosts, which may have this one's number, may write here, too.
    partial = file.path.with_name(f".{file.path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    partial.write_bytes(data)
    partial.replace(file.path)
