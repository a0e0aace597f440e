"""This process as a recorded or replayed rank: opens the book and puts it where messages and collectives pass."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import time
from pathlib import Path
from typing import Any

from tt_run import contract
from tt_run.runtime import launched
from tt_run.runtime.comm import record_hook
from tt_run.runtime.comm.world import World
from tt_run.runtime.record import frames, start
from tt_run.runtime.record.collectives import BookedCollectives
from tt_run.runtime.record.folder import finding_of
from tt_run.runtime.record.frames import FrameWriter
from tt_run.runtime.record.ranks import BookedWorld
from tt_run.runtime.record.recording import Recording, as_text
from tt_run.runtime.record.reopened import asked_outside, changed_files
from tt_run.runtime.record.replaying import Replaying, Story

FORMAT = 1
DEFAULT_LIMIT = 8 << 30
NAME = "rank-{rank:04d}" + frames.SUFFIX
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|COOKIE", re.IGNORECASE)
_FILES = (contract.MESH_GRAPH_DESC_PATH,)
_LARGEST_FILE = 1 << 20

_book: Recording | Replaying | None = None


def world_of(rank: int, size: int) -> World:
    """The ranks of this process's job, with the book that the environment names. Raises RuntimeError where it cannot be opened."""
    return BookedWorld(rank, size, book(rank, size))


def book(rank: int, size: int) -> Recording | Replaying:
    """The book of this process, opened once."""
    global _book
    if _book is None:
        start.begin()
        _book = _replaying() if launched.variables.get(contract.REPLAY) else _recording(rank, size)
        record_hook.keeper = BookedCollectives(_book)
    return _book


def _recording(rank: int, size: int) -> Recording:
    folder = Path(launched.variables[contract.RECORD])
    if run := launched.variables.get(contract.RUN_DIR):
        folder = folder / Path(run).name
    with start.unasked():
        made = Recording(_new_file(folder, rank), start.clocks)
        made.file.write_json(frames.HEADER, _header(rank, size))
    start.connect(made.entropy, made.read, made.opened)
    start.at_failure(lambda kind, error: made.leave(_failure(kind, error)))
    start.at_end(lambda: made.leave({}))
    return made


def _new_file(folder: Path, rank: int) -> FrameWriter:
    """The file of this rank: of several programs that a rank runs one after the other, each has its own."""
    limit = os.environ.get(contract.RECORD_LIMIT, "").strip()
    if limit and not limit.isdigit():
        raise RuntimeError(f"{contract.RECORD_LIMIT}={limit!r} is no number of bytes")
    name = NAME.format(rank=rank)
    for number in range(1, 1000):
        path = folder / (name if number == 1 else name.replace(frames.SUFFIX, f".{number}{frames.SUFFIX}"))
        try:
            return FrameWriter(path, int(limit or DEFAULT_LIMIT))
        except FileExistsError:
            continue
        except OSError as error:
            raise RuntimeError(
                f"rank {rank} cannot write its record {path}: {error.strerror}\n  help: name another folder with --record"
            ) from error
    raise RuntimeError(f"{folder} is full of records of rank {rank}")


def _header(rank: int, size: int) -> dict[str, Any]:
    found = dict(start.state)
    hidden = sorted(name for name in found["environment"] if _SECRET.search(name))
    found["environment"] = {n: v for n, v in found["environment"].items() if n not in hidden}
    return {
        "format": FORMAT,
        "rank": rank,
        "size": size,
        "run": launched.variables.get(contract.RUN_DIR, ""),
        "host": platform.node(),
        "pid": os.getpid(),
        "time": time.time(),
        "python": platform.python_version(),
        "hidden": hidden,
        "files": _files(),
        "program": _program(found["argv"], found["cwd"]),
        **found,
    }


def _files() -> dict[str, list[str]]:
    """The descriptors that the runtime reads: a replay on another machine has them, too."""
    found = {}
    for variable in _FILES:
        path = Path(os.environ.get(variable, "") or "/")
        if path.is_file() and path.stat().st_size <= _LARGEST_FILE:
            found[variable] = [str(path), path.read_text(encoding="utf-8", errors="replace")]
    return found


def _program(argv: list[str], cwd: str) -> dict[str, str]:
    """The first file among the interpreter's words, or the module after -m, and its hash."""
    for word, before in zip(argv[1:], argv, strict=False):
        path = Path(cwd, *word.split(".")).with_suffix(".py") if before == "-m" else Path(cwd, word)
        if before == "-m" and not path.is_file():
            path = path.with_suffix("") / "__main__.py"
        if path.is_file():
            return {"path": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    return {}


def _failure(kind: type[BaseException], error: BaseException) -> dict[str, Any]:
    return {
        "exception": kind.__name__,
        "message": contract.essence(str(error)),
        "error": json.loads(as_text(error)),
    }


def _replaying() -> Replaying:
    from tt_run.runtime.record import stops

    how = stops.read_how()
    try:
        story = Story(Path(launched.variables[contract.REPLAY]))
    except (ValueError, OSError) as error:
        print(finding_of(error), file=sys.stderr, flush=True)
        os._exit(
            contract.Exit.UNREADABLE
        )  # in the midst of the program's import, which might take an exception for its own

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    made = Replaying(story, not how.get("allow_changes"), tell)
    made.before_call = lambda number, facts: stops.before_call(number, story.counted(number), facts)
    start.at_end(lambda: tell(_summary(made)))
    return made


def _summary(replaying: Replaying) -> str:
    from tt_run.runtime.record.stops import unreached_stop

    missed = unreached_stop(len(replaying.story.begun))
    more = f"\ntt-run replay: it never came to {missed}" if missed else ""
    changed = changed_files()
    if replaying.made < len(replaying.story.begun) and not replaying.differs:
        changed += asked_outside()
    changed = changed.rstrip("\n")
    return _ending(replaying) + more + (changed and f"\n{changed}")


def _ending(replaying: Replaying) -> str:
    story, done = replaying.story, replaying.made
    whole = len(story.begun)
    calls = f"{done} of {whole} calls"
    if replaying.differs:
        return f"tt-run replay: rank {story.rank}: {calls}; other values from call {replaying.differs} on"
    if done < whole:
        return f"tt-run replay: rank {story.rank}: {calls}, all as recorded; the record goes on with {story.facts_of(done + 1)}"
    return f"tt-run replay: rank {story.rank}: {calls}, all as recorded"
