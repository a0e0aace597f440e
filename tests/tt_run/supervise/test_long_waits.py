"""What ranks that wait long say in the run folder, and the early line of a run that stands still."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tt_run.cli.commands.status import command
from tt_run.runtime.guard.long_wait import LongWait as Telling
from tt_run.runtime.guard.states import Wait
from tt_run.supervise.looking.long_waits import Standstill, _ahead, read_waits, who_waits
from tt_run.supervise.looking.stacks import Frame, RankStack


def write(folder: Path, rank: int, seconds: float, *missing: int, call: str = "all_gather") -> None:
    facts = {"call": call, "number": 7, "site": "/w/a.py:3", "waited": seconds, "missing": missing}  # fmt: skip
    (folder / f"rank-{rank:04d}.wait").write_text(json.dumps(facts))


def test_a_rank_says_where_it_waits_and_that_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TT_RUN_DIR", str(tmp_path))
    telling, now = Telling(2), time.perf_counter()
    wait = Wait("collective", "all_gather(shape [1])", "a.py:3", (0, 1, 2), 5, (0, 1), now - 0.5, now)
    telling.tell(wait, 9)
    assert not read_waits(tmp_path)  # not long enough
    telling.tell(Wait(**{**vars(wait), "since": now - 4}), 9)
    told = read_waits(tmp_path)[2]
    assert (told.call, told.number, told.site, told.missing) == ("all_gather", 9, "a.py:3", (0, 1))
    assert 4 <= told.seconds < 8
    telling.tell(Wait(**{**vars(wait), "since": now - 4, "missing": (1,)}), 9)
    assert read_waits(tmp_path)[2].missing == (1,)
    telling.over()
    assert not list(tmp_path.iterdir())


def test_a_run_that_was_stopped_is_given_its_time_again(tmp_path: Path) -> None:
    said: list[str] = []
    standstill = Standstill(tmp_path, said.append, lambda: [RankStack(1, (Frame("/w/b.py", 8, "load"),))])
    write(tmp_path, 0, 600, 1)
    standstill.went_on = 100.0
    standstill.look(101.0)
    assert not said
    standstill.look(131.0)
    assert len(said) == 1


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_clock_that_is_set_makes_no_wait_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    said: list[str] = []
    standstill = Standstill(tmp_path, said.append, list)
    write(tmp_path, 0, 2, 1)
    standstill.look(100.0)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    standstill.look(110.0)
    assert not said and standstill.longest == pytest.approx(12, abs=1)
    standstill.look(135.0)
    assert said[0].startswith("no progress for 37 s: rank 1")


def test_a_rank_without_a_folder_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = Wait("collective", "barrier", "a.py:3", (0, 1), 5, (0,), time.perf_counter() - 4)
    monkeypatch.delenv("TT_RUN_DIR", raising=False)
    Telling(0).tell(wait, 1)
    monkeypatch.setenv("TT_RUN_DIR", str(tmp_path / "gone"))
    telling = Telling(0)
    telling.tell(wait, 1)
    telling.over()


def test_the_early_line_names_who_is_waited_for_once(tmp_path: Path) -> None:
    said: list[str] = []
    stacks = [RankStack(1, (Frame("/w/b.py", 8, "load"),))]
    standstill = Standstill(tmp_path, said.append, lambda: stacks)
    write(tmp_path, 0, 12, 1)
    standstill.look(1.0)
    assert not said
    for rank in (0, 2, 3):
        write(tmp_path, rank, 31, 1)
    standstill.look(1.5)  # looked just now
    assert not said
    standstill.look(2.5)
    standstill.look(3.6)
    assert said == [
        "no progress for 31 s: rank 1 at /w/b.py:8; ranks 0, 2-3 wait for it in all_gather at /w/a.py:3"
    ]


def test_the_clock_of_a_rank_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TT_RUN_DIR", str(tmp_path))
    now = time.perf_counter()
    with monkeypatch.context() as skewed:
        skewed.setattr(time, "time", lambda: 1e9)
        Telling(2).tell(Wait("collective", "barrier", "a.py:3", (0, 1, 2), 5, (0, 1), now - 4), 9)
    assert 4 <= read_waits(tmp_path)[2].seconds < 8


def test_the_early_line_of_a_rank_that_waits_elsewhere(tmp_path: Path) -> None:
    said: list[str] = []
    write(tmp_path, 0, 40, 1)
    write(tmp_path, 1, 2, 0, call="barrier")
    Standstill(tmp_path, said.append, list).look(1.0)
    assert said == [
        "no progress for 40 s: rank 1 in barrier at /w/a.py:3; rank 0 waits for it in all_gather at /w/a.py:3"
    ]


def test_who_waits_for_whom() -> None:
    assert who_waits({0: (1,), 3: (1,), 1: (2,), 2: ()}) == ["ranks 0, 3 wait for rank 1", "rank 1 waits for rank 2"]  # fmt: skip


def test_a_wait_in_the_guard_is_no_computation() -> None:
    inner = Frame("/x/tt_run/runtime/guard/watch.py", 186, "_wait_long")
    stack = RankStack(0, (Frame("/x/tt_run/runtime/comm/bell.py", 52, "sleep"), inner))
    assert stack.waits and not stack.in_mpi


def test_status_of_a_rank_that_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "launch").mkdir()
    for rank in (0, 1):
        (tmp_path / f"rank-{rank:04d}.status").write_text(
            f"host=h\npid={os.getpid()}\nstart={time.time():.2f}\n"
        )
    write(tmp_path, 0, 12, 1)
    assert command([str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "waits for rank 1 in all_gather at /w/a.py:3, 12 s\n" in shown
    assert shown.endswith("rank 0 waits for rank 1\n")
    assert command([str(tmp_path), "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first["waits"]["for"] == [1] and first["waits"]["number"] == 7
    assert (second["waits"], second["state"], second["memory"] > 0) == (None, "running", True)


def test_status_of_many_ranks_puts_those_together_that_do_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "launch").mkdir()
    for rank in range(64):
        host, pid = f"h{rank // 32}", os.getpid()
        (tmp_path / f"rank-{rank:04d}.status").write_text(
            f"host={host}\npid={pid}\nstart={time.time():.2f}\n"
        )
        if rank != 5:
            write(tmp_path, rank, 12 + rank, 5)
    assert command([str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.partition("  ")[0] for line in lines] == [
        "ranks 0-4, 6-31 on h0",
        "rank 5 on h0",
        "ranks 32-63 on h1",
        "ranks 0-4, 6-63 wait for rank 5",
    ]
    assert "up to " in lines[0] and lines[2].endswith("waits for rank 5 in all_gather at /w/a.py:3, 75 s")
    assert len({line.index("MiB") for line in lines[:3]}) == 1
    assert command([str(tmp_path), "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 66


def test_ranks_that_wait_in_a_circle_are_told_one_by_one(tmp_path: Path) -> None:
    said: list[str] = []
    for rank in range(3):
        write(tmp_path, rank, 31, (rank + 1) % 3, call="MPI Recv")
    Standstill(tmp_path, said.append, list).look(1.0)
    circle = "rank 0 waits for rank 1, rank 1 waits for rank 2, rank 2 waits for rank 0"
    assert said == [f"no progress for 31 s: {circle}, in MPI Recv at /w/a.py:3"]


@pytest.mark.parametrize(("last", "ahead"), [((3,), {3}), ((0,), set()), ((), set())])
def test_a_wait_is_followed_from_rank_to_rank(tmp_path: Path, last: tuple[int, ...], ahead: set[int]) -> None:
    """0 waits for 1 and that for 2, which waits for one that computes, for the first of them, or for nobody."""
    write(tmp_path, 0, 60, 1)
    write(tmp_path, 1, 50, 2)
    write(tmp_path, 2, 40, *last)
    waits = read_waits(tmp_path)
    assert _ahead(waits[0], waits) == ahead
