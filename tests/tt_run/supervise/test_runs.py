"""Runs found by their folders: state, what became of them, and stacks of many ranks as one tree."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.jobs import until
from tt_run import contract
from tt_run.supervise.folder import make_folder
from tt_run.supervise.looking.runs import (
    ENDED,
    LOST,
    RUNNING,
    find_going_on,
    find_runs,
    parent_of_runs,
    read_run,
    remove,
)
from tt_run.supervise.looking.stack_tree import stack_tree, tree_lines, without_emulation
from tt_run.supervise.looking.stacks import Frame, RankStack

NOBODY = 2**22 - 3  # a process number that the tests' machine does not reach


def make(parent: Path, name: str, ranks: dict[int, str], verdict: dict[str, Any] | None = None) -> Path:
    """A run folder with status records and, once it has ended, a plan."""
    folder = parent / name
    (folder / "launch").mkdir(parents=True)
    for rank, text in ranks.items():
        (folder / f"rank-{rank:04d}.status").write_text(text)
    if verdict is not None:
        (folder / "plan.json").write_text(json.dumps({"verdict": verdict}))
    return folder


def test_a_run_folder_is_made_with_the_folders_above_it(tmp_path: Path) -> None:
    path = make_folder(tmp_path / "results" / "today" / "run").path
    assert path.is_dir() and path.stat().st_mode & 0o777 == 0o700


def test_states(tmp_path: Path) -> None:
    alive = f"rank=0\nhost=here\npid={os.getpid()}\nstart=100.5\n"
    gone = f"rank=0\nhost=here\npid={NOBODY}\nstart=99\n"
    make(tmp_path, f"20260101-000000-{NOBODY}", {0: alive})
    make(tmp_path, f"20260102-000000-{NOBODY}", {0: gone})
    make(tmp_path, f"20260103-000000-{NOBODY}", {0: gone + "exit=0\n"}, {"exit_code": 0})
    make(tmp_path, f"20260104-000000-{NOBODY}", {}, {"exit_code": 3, "sentence": "rank 0 exited with 3"})
    make(tmp_path, f"20260105-000000-{os.getpid()}", {})
    (tmp_path / "something else").mkdir()
    runs = {run.name[:8]: run for run in find_runs(tmp_path)}
    assert {day: run.state for day, run in runs.items()} == {
        "20260101": RUNNING, "20260102": LOST, "20260103": ENDED, "20260104": ENDED, "20260105": RUNNING,
    }  # fmt: skip
    assert runs["20260101"].sentence == "1 of 1 ranks running"
    assert runs["20260102"].sentence == "its launcher is gone and wrote no end"
    assert runs["20260103"].sentence == "ended well"
    assert runs["20260104"].sentence == "rank 0 exited with 3"
    assert runs["20260105"].sentence == "starting"
    assert runs["20260101"].began == 100.5
    remove(runs["20260104"])
    assert len(find_runs(tmp_path)) == 4


def test_runs_that_go_on_are_found_by_their_processes(tmp_path: Path) -> None:
    alive = f"rank=0\nhost=here\npid={os.getpid()}\nstart=100.5\n"
    folders = make(tmp_path, "a", {0: alive}), make(tmp_path, "b", {0: alive + "exit=0\n"}, {"exit_code": 0})
    processes = [subprocess.Popen(["sleep", "60"], env={contract.RUN_DIR: str(folder)}) for folder in folders]
    try:
        until(lambda: [run.folder.path for run in find_going_on(tmp_path)] == [folders[0]], 5.0)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_where_runs_are_looked_for(tmp_path: Path) -> None:
    assert parent_of_runs(None, tmp_path) == tmp_path / "tt-run-logs"
    assert parent_of_runs("mine", tmp_path) == Path.cwd() / "mine"
    assert find_runs(tmp_path / "nothing") == []
    folder = make(tmp_path, "mine", {})
    assert [run.name for run in find_runs(folder)] == ["mine"]
    assert read_run(folder).ranks == ()
    assert read_run(folder).size == sum(path.stat().st_size for path in folder.iterdir()) > 0


def frame(function: str, line: int = 1) -> Frame:
    return Frame("prog.py", line, function)


def stack(rank: int, *outermost_first: Frame) -> RankStack:
    return RankStack(rank, tuple(reversed(outermost_first)))


@pytest.mark.parametrize(
    ("stacks", "lines"),
    [
        (
            [stack(0, frame("main"), frame("step")), stack(1, frame("main"), frame("step"))],
            ["ranks 0-1", "  prog.py:1 in main", "  prog.py:1 in step"],
        ),
        (
            [
                stack(0, frame("main"), frame("step", 5)),
                stack(1, frame("main"), frame("load", 9), frame("read")),
                stack(2, frame("main"), frame("step", 5)),
                RankStack(3),
            ],
            [
                "ranks 0-2",
                "  prog.py:1 in main",
                "  rank 1",
                "    prog.py:9 in load",
                "    prog.py:1 in read",
                "  ranks 0, 2",
                "    prog.py:5 in step",
                "rank 3: no answer",
            ],
        ),
    ],
)
def test_stacks_as_a_tree(stacks: list[RankStack], lines: list[str]) -> None:
    assert tree_lines(stack_tree(stacks)) == lines


def test_ranks_in_one_call_are_not_parted_by_where_the_emulation_waits() -> None:
    user, runtime = Frame("/w/a.py", 3, "step"), "/x/tt_run/runtime/guard/watch.py"
    stacks = [
        RankStack(0, (Frame(runtime, 9, "spin"), user)),
        RankStack(1, (Frame(runtime, 5, "sleep"), Frame(runtime, 4, "wait"), user)),
        RankStack(2, (Frame(runtime, 4, "wait"),)),
    ]
    shown = [without_emulation(stack) for stack in stacks]
    assert [stack.frames for stack in shown[:2]] == [(user,), (user,)] and shown[2] == stacks[2]
