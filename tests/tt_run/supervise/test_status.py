"""Records: read as they grow, half a line never believed."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tt_run.supervise.conftest import Records
from tt_run.supervise import status
from tt_run.supervise.status import (
    FirstSeen,
    RankStatus,
    StatusBoard,
    failure_of,
    parse_status,
    read_failure,
    signal_name,
    wall_time,
)

COMPLETE = "rank=3\nhost=h1\npid=42\npgid=40\nstart=10.25\nend=11.5\nexit=3\n"


def test_a_complete_record() -> None:
    assert parse_status(3, COMPLETE) == RankStatus(3, "h1", 42, 40, 10.25, 11.5, code=3)


@given(st.integers(0, len(COMPLETE) - 1))
def test_a_record_in_the_middle_of_being_written_is_no_end(length: int) -> None:
    status = parse_status(3, COMPLETE[:length])
    assert not status.ended
    assert status.pid in (None, 42)
    assert status.host in (None, "h1")


@pytest.mark.parametrize(
    ("text", "outcome", "code"),
    [
        ("start=1\nexit=0\n", "exited with 0", 0),
        ("start=1\nsignal=11\n", "was killed by SIGSEGV", 139),
        ("start=1\nerror=x: no such file\nexit=127\n", "did not start: x: no such file", 127),
        ("start=1\n", "left no record of its end", None),
        ("", "did not start", None),
    ],
)
def test_the_end_in_words(text: str, outcome: str, code: int | None) -> None:
    status = parse_status(0, text)
    assert (status.outcome(), status.exit_code) == (outcome, code)


def test_of_a_wrapper_that_was_killed_while_it_cleaned_up_the_end_of_its_program_is_believed() -> None:
    status = parse_status(0, "start=1\nover=signal:15\nend=2\n")
    assert not status.ended and status.settled().signal == 15
    assert parse_status(0, "start=1\nover=exit:3\nend=2\n").settled().code == 3
    assert parse_status(0, "start=1\nover=signal:15\nend=2\nexit=0\n").settled().code == 0


def test_a_date_without_fractions_is_understood() -> None:
    assert parse_status(0, "start=1795216000.%N\n").start == 1795216000.0


def test_an_end_never_comes_before_its_start() -> None:
    for _ in range(500):
        status = parse_status(0, "start=@100.00\nend=@100.00\nexit=0\n")
        assert status.start is not None and status.start == status.end


def test_names_of_signals() -> None:
    assert (signal_name(9), signal_name(63)) == ("SIGKILL", "signal 63")


def test_the_board_follows_what_is_written(records: Records) -> None:
    board = records.board
    assert not board.refresh()
    records.status(0)
    assert board.refresh()
    assert (board.started, board.all_started, board.all_ended) == (1, False, False)
    records.status(1, end=2.0, exit=0)
    records.status(0, end=2.5, exit=4)
    assert board.refresh()
    assert board.all_ended
    assert board.first_failure() == board.of(0)
    assert not board.refresh()


@pytest.mark.parametrize("first", [{"end": 2.0, "exit": 0}, {}])
def test_a_rank_that_wrote_nothing_new_hides_no_later_one(records: Records, first: dict[str, float]) -> None:
    records.status(0, **first)
    board = records.board
    records.status(1)
    assert board.refresh() and board.all_started


def test_the_first_failure_is_the_earliest(records: Records) -> None:
    records.status(0, end=3.0, exit=1)
    records.status(1, end=2.0, signal=9)
    first = records.board.first_failure()
    assert first is not None and first.rank == 1


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"'])
def test_an_unreadable_failure_record_is_none(records: Records, text: str) -> None:
    records.folder.failure(0).write_text(text)
    assert read_failure(records.folder, 0) is None


def test_a_rank_is_seen_to_start_once(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([5.0, 7.0, 9.0])
    monkeypatch.setattr(status, "wall_time", lambda: next(clock))
    board = StatusBoard(records.folder, 1)
    for start, end in ((None, None), (1.0, None), (1.0, 2.0)):
        board._note(RankStatus(0, start=start, end=end, code=0 if end else None))
    assert board.seen[0] == FirstSeen(7.0, 9.0)


@pytest.mark.parametrize(
    ("own", "told"), [(None, "ValueError"), ("SystemExit", "ValueError"), ("KeyError", "KeyError")]
)
def test_a_rank_that_passes_a_code_on_has_the_failure_of_its_child(
    records: Records, own: str | None, told: str
) -> None:
    records.folder.child_failure(0).write_text('{"exception": "ValueError"}')
    if own:
        records.folder.failure(0).write_text(json.dumps({"exception": own}))
    assert failure_of(records.folder, RankStatus(0, code=3)) == {"exception": told}
    killed = failure_of(records.folder, RankStatus(0, signal=9))
    assert killed == ({"exception": own} if own else None)


def test_a_clock_that_is_set_during_a_run_changes_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    before, real = wall_time(), time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    up = float(Path("/proc/uptime").read_text().split()[0])
    ended = parse_status(0, f"start=@{up}\nend=@{up}\nexit=0\n").end
    assert ended is not None and before - 0.05 <= ended <= wall_time() + 0.05 < before + 60
