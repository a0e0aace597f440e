"""Which ranks of a host are missing and where they are, from what a run folder says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tt_run import contract
from tt_run.runtime.comm import missing_ranks
from tt_run.runtime.comm.missing_ranks import at_their_end, place_of, processes_of, world_ranks

DUMP = """\
Thread 0x1 (most recent call first):
  File "/home/me/helper.py", line 3 in aside
Current thread 0x2 (most recent call first):
  File "/usr/lib/python3.11/socket.py", line 8 in read
  File "/x/site-packages/numpy/core.py", line 9 in dot
  File "/x/tt_run/runtime/comm/group.py", line 9 in swap
  File "<frozen importlib>", line 9 in load
  File "/home/me/train.py", line 12 in step
  File "/home/me/train.py", line 40 in <module>
"""


GONE = 2**22 + 1
"""A process number beyond those that there can be."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Ranks 0, 3 and 12 on this host, 1 on another; 2 has not said where it is."""
    for rank, host in ((0, "a"), (1, "b"), (3, "a"), (12, "a")):
        (tmp_path / f"rank-{rank}.status").write_text(f"pid=1\nhost={host}\nstate=running\n")
    return {contract.RUN_DIR: str(tmp_path), "OMPI_COMM_WORLD_RANK": "3"}


def stacks(environment: dict[str, str], rank: int, text: str) -> Path:
    path = Path(environment[contract.RUN_DIR]) / contract.STACKS_FILE.format(rank=rank)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("local", "ranks"), [([0, 1, 2], [0, 3, 12]), ([2], [12]), ([3], []), ([1, 3], []), ([], [])]
)
def test_ranks_of_a_host_are_numbered_in_the_order_of_the_job(
    environment: dict[str, str], local: list[int], ranks: list[int]
) -> None:
    assert world_ranks(local, environment) == ranks


@pytest.mark.parametrize(("size", "later"), [("3", [12]), ("4", [])])
def test_files_are_read_until_all_ranks_of_the_host_are_known(
    environment: dict[str, str], size: str, later: list[int]
) -> None:
    environment["OMPI_COMM_WORLD_LOCAL_SIZE"] = size
    assert world_ranks([2], environment) == [12]
    for path in Path(environment[contract.RUN_DIR]).glob("*.status"):
        path.unlink()
    assert world_ranks([2], environment) == later


def test_who_is_at_the_end_of_its_program_is_told_by_its_file(environment: dict[str, str]) -> None:
    for rank in (1, 12):
        ending = Path(environment[contract.RUN_DIR]) / contract.ENDING_FILE.format(rank=rank)
        ending.write_text("pid=7 mpi=open\n")
    assert at_their_end([0, 1, 2], environment) == [2]
    failure = Path(environment[contract.RUN_DIR]) / contract.FAILURE_FILE.format(rank=12)
    failure.touch()
    assert at_their_end([0, 1, 2], environment) == [], "it tells itself what it raised"
    failure.unlink()
    assert at_their_end([1], environment) == at_their_end([], environment) == at_their_end([2], {}) == []


@pytest.mark.parametrize("without", [contract.RUN_DIR, "OMPI_COMM_WORLD_RANK"])
def test_without_a_run_folder_no_rank_is_known(environment: dict[str, str], without: str) -> None:
    del environment[without]
    assert world_ranks([0], environment) == processes_of([0], environment) == []


def test_the_last_process_of_a_rank_is_the_one_that_runs(environment: dict[str, str]) -> None:
    mine, parent = os.getpid(), os.getppid()
    stacks(environment, 0, f"# registered pid={parent}\n")
    stacks(
        environment,
        3,
        f"# registered pid={parent}\nnoise\n# registered pid={mine}\n# registered pid={GONE}\n",
    )
    stacks(environment, 1, f"# registered pid={mine}\n")
    assert processes_of([0, 1, 2], environment) == [parent, mine]


@pytest.mark.parametrize(
    ("dump", "place"),
    [
        (DUMP, "/home/me/train.py:12 in step"),
        (DUMP[: DUMP.index("Current")], "/home/me/helper.py:3 in aside"),
        (DUMP[: DUMP.index('  File "/home/me/train.py", line 12')], ""),
        ("nothing\n", ""),
    ],
)
def test_the_place_of_a_rank_is_the_users_line(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, dump: str, place: str
) -> None:
    """It is asked by a signal; what stood in its file before is of an earlier question."""
    path = stacks(environment, 3, f"# registered pid={os.getpid()}\n{DUMP.replace('12', '99')}")
    asked: list[int] = []

    def ask(pid: int) -> bool:
        asked.append(pid)
        with path.open("a") as file:
            file.write(dump)
        return True

    clock: Iterator[float] = iter(range(100))
    monkeypatch.setattr(missing_ranks.contract, "ask_stacks", ask)
    monkeypatch.setattr(missing_ranks.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(missing_ranks.time, "sleep", lambda seconds: None)
    assert place_of(3, environment) == place
    assert asked == [os.getpid()]


def test_a_rank_that_is_gone_or_has_no_hook_has_no_place(environment: dict[str, str]) -> None:
    assert place_of(3, environment) == ""
    stacks(environment, 3, f"# registered pid={GONE}\n")
    assert place_of(3, environment) == ""
