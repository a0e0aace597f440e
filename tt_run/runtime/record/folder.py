"""Finding a record: the folder of --record holds one folder for each run or attempt, and that a file for each rank."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_run.runtime.record import frames
from tt_run.runtime.record.soundness import check_header, reading

_HELP = "name the folder of --record: tt-run --emulate --record rec … python prog.py makes one"
_NAME = re.compile(r"rank-(\d+)(?:\.(\d+))?\.record$")


class NoRecord(Exception):
    """There is no such record; the text says what there is."""


def finding_of(error: Exception) -> str:
    """The finding for a record that is not there or cannot be read, with what to do where the text does not say it already."""
    text = f"error[TTP003]: {error}"
    if isinstance(error, NoRecord) and "\n  help: " not in text:
        text += f"\n  help: {_HELP}"
    return f"{text}\n  more: tt-run --explain TTP003"


@dataclass(frozen=True)
class RunRecord:
    """The records of one run by rank: of a rank that ran several programs, the last one."""

    path: Path
    ranks: dict[int, Path]


def header_of(path: Path) -> dict[str, Any]:
    """What a record says about its process. Raises NoRecord."""
    try:
        for frame in frames.read_frames(path):
            if frame.kind == frames.HEADER:
                with reading(path, frame.at):
                    return check_header(frame.json)
    except OSError as error:
        raise NoRecord(f"{error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise NoRecord(str(error)) from error
    raise NoRecord(f"{path} ends before it says whose it is")


def find_run(path: Path) -> RunRecord:
    """The run that a path names: a folder of records, the folder above (the last run of it), or one record. Raises NoRecord."""
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except OSError as error:  # a name too long
        raise NoRecord(f"there is no folder {path}: {error.strerror}") from None
    if is_file:
        return RunRecord(path.parent, {int(header_of(path)["rank"]): path})
    if not is_folder:
        raise NoRecord(f"there is no folder {path}")
    try:
        children = list(path.iterdir())
    except OSError as error:
        who = f"ls -ld {path} says who may read it"
        raise NoRecord(f"{path} cannot be read: {error.strerror}\n  help: {who}") from error
    here = _ranks_in(path)
    if here:
        return RunRecord(path, here)
    runs = [(child, found) for child in children if child.is_dir() and (found := _ranks_in(child))]
    if not runs:
        raise NoRecord(f"{path} holds no record of a rank")
    try:
        last, found = max(runs, key=lambda run: max(file.stat().st_mtime_ns for file in run[1].values()))
    except OSError as error:  # a link that leads nowhere, for one
        raise NoRecord(f"{error.filename}: {error.strerror}") from error
    return RunRecord(last, found)


def rank_of(run: RunRecord, rank: int) -> Path:
    """The record of a rank. Raises NoRecord naming those that there are."""
    if rank not in run.ranks:
        there = ", ".join(map(str, sorted(run.ranks)))
        size = header_of(next(iter(run.ranks.values())))["size"]
        beyond = (
            f"the run had {'ranks 0 to ' if size > 1 else 'rank '}{size - 1}{'' if size > 1 else ' alone'}"
            if rank >= size
            else f"here are those of rank {there}; each is on the host on which its rank ran"
        )
        help = f"write tt-run replay {run.path} --rank {min(run.ranks)}"
        raise NoRecord(f"{run.path} has no record of rank {rank}: {beyond}\n  help: {help}")
    return run.ranks[rank]


def _ranks_in(folder: Path) -> dict[int, Path]:
    found: dict[int, tuple[int, Path]] = {}
    for path in folder.glob(f"rank-*{frames.SUFFIX}"):
        name = _NAME.match(path.name)
        if name is not None:
            number = int(name[2] or 1)
            rank = int(name[1])
            found[rank] = max(found.get(rank, (0, path)), (number, path))
    return {rank: path for rank, (_, path) in sorted(found.items())}
