"""Rows of the board, labels, channels: what ranks write for each other to read."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tt_run import contract
from tt_run.runtime.comm.shared_memory import SharedBlock
from tt_run.runtime.guard import blocked_interpreter, board, long_wait, started_calls
from tt_run.runtime.guard.board import (
    ANSWERED,
    ASKED,
    CALLS,
    ENDED,
    LABEL,
    PID,
    RAISED,
    ROW_BYTES,
    RUNNING,
    STATE,
    WAITING,
    rows,
)
from tt_run.runtime.guard.channel import AGREED, DIFFERENT, PENDING, SharedChannel
from tt_run.runtime.guard.signature import Labels, Signature, code_of
from tt_run.runtime.guard.started_calls import Note, Started
from tt_run.runtime.guard.states import Wait
from tt_run.runtime.guard.whereabouts import Whereabouts


def two_rows() -> dict[int, board.BoardRow]:
    return rows(memoryview(bytearray(2 * ROW_BYTES)), (4, 7))


def test_rows_are_apart() -> None:
    both = two_rows()
    both[4].words[STATE] = 3
    both[7].write("record", {"a": 1})
    assert both[7].words[STATE] == 0
    assert both[4].read("record") is None
    assert both[7].read("record") == {"a": 1}
    both[7].clear("record")
    assert both[7].read("record") is None


def test_only_ranks_of_this_host_that_live_and_do_not_wait_are_running() -> None:
    both, seen = two_rows(), object.__new__(Whereabouts)
    seen._rows = both
    for row in both.values():
        row.words[PID] = os.getpid()
    assert seen.running((4, 7))
    assert seen.running(())
    assert not seen.running((4, 9)), "a rank of another host tells by messages"
    for state in (WAITING, ENDED, RAISED):
        both[7].words[STATE] = state
        assert not seen.running((4, 7))
    both[7].words[STATE] = RUNNING
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    both[7].words[PID] = gone.pid
    assert not seen.running((7,))


@pytest.mark.parametrize("data", [b"[1]", b'"x"', b"1", b"null", b"{", b"\xff", b""])
def test_what_is_no_record_is_none(data: bytes) -> None:
    row = two_rows()[4]
    row._write(*row._texts["record"], data)
    assert row.read("record") is None


def test_who_has_answered_and_who_is_lost() -> None:
    both, seen = two_rows(), object.__new__(Whereabouts)
    seen._rows, seen._seized = both, {}
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    words = both[7].words
    for asked, answered, state, pid, known in (
        (1, 0, RUNNING, os.getpid(), False),
        (1, 1, RUNNING, os.getpid(), True),
        (2, 1, RUNNING, os.getpid(), False),
        (2, 1, WAITING, os.getpid(), True),
        (2, 1, RUNNING, gone.pid, True),
    ):
        words[ASKED], words[ANSWERED], words[STATE], words[PID] = asked, answered, state, pid
        assert seen.have_answered((7,)) == seen.have_answered((7, 99)) == known
    assert seen.processes((7, 4, 99)) == [gone.pid, 0]
    for state, pid, lost in (
        (RUNNING, os.getpid(), False),
        (RUNNING, gone.pid, True),
        (WAITING, gone.pid, True),
        (ENDED, gone.pid, False),
        (RAISED, gone.pid, False),
        (RUNNING, 0, False),
    ):
        words[STATE], words[PID] = state, pid
        found = seen._read(7, both[7])
        assert (found.lost, found.gone) == (lost, lost or state in (ENDED, RAISED))


def test_a_process_of_another_user_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    both, seen = two_rows(), object.__new__(Whereabouts)
    seen._rows, seen._seized = both, {}
    both[7].words[STATE], both[7].words[PID] = RUNNING, os.getpid()

    def kill(pid: int, number: int) -> None:
        raise PermissionError(pid, number)

    monkeypatch.setattr(os, "kill", kill)
    assert not seen._read(7, both[7]).lost and seen.running((7,))


def test_what_a_rank_that_runs_says_of_itself() -> None:
    both, seen = two_rows(), object.__new__(Whereabouts)
    seen._rows, seen._seized = both, {}
    row = both[7]
    row.words[PID] = os.getpid()
    assert seen._read(7, row).doing == ""
    seen._seized[7] = "a.py:3 in step"
    assert seen._read(7, row).doing == "a.py:3 in step"
    seen.ask((7, 99))
    row.write("answer", {"doing": "b.py:4 in f"})
    assert (row.words[ASKED], seen._read(7, row).doing) == (1, "a.py:3 in step"), "an answer of before"
    row.words[ANSWERED] = 1
    assert (seen._read(7, row).doing, seen._read(7, row).state) == ("b.py:4 in f", RUNNING)


def test_a_record_that_is_too_long_keeps_the_last_calls() -> None:
    row = two_rows()[4]
    calls = {str(i): ["call", "s" * 100] for i in range(500)}
    row.write("record", {"error": "x", "histories": {"0,1": calls, "2,3": {"7": ["call", "s"]}}})
    assert row.read("record") == {
        "error": "x",
        "histories": {"0,1": {"499": calls["499"]}, "2,3": {"7": ["call", "s"]}},
    }
    row.write("record", {"error": "x", "histories": {"0,1": {"1": ["call", "s" * 50_000]}}})
    assert row.read("record") == {"error": "x", "histories": {}}


def test_the_last_call_is_readable_from_its_label() -> None:
    row = two_rows()[4]
    assert row.label() == ""
    row.write_label(5, "all_gather()", "p.py:3")
    row.words[LABEL], row.words[CALLS] = 5, 1
    assert row.label() == "all_gather() at p.py:3"
    row.write_label(5, f"all_gather({'é' * 400})", "p.py:3")
    assert len(row.label()) <= 256 and row.label().endswith(" ...) at p.py:3")
    row.write_label(5, "all_gather()", "/p" * 300)
    assert row.label().startswith(" ...) at /p/p")


def test_labels_keep_the_latest_calls() -> None:
    labels = Labels()
    frame = sys._getframe()
    calls = [labels.add(frame, Signature("op", number)) for number in range(Labels.CAPACITY + 1)]
    known = {signature.axis: call for (_, _, signature), call in labels.calls.items()}
    assert sorted(known) == list(range(1, Labels.CAPACITY + 1))
    assert known[1] is calls[1]
    assert calls[-1].slot == calls[0].slot
    line = test_labels_keep_the_latest_calls.__code__.co_firstlineno + 3
    assert calls[3].site.endswith(f"test_board.py:{line}")


def test_equal_signatures_have_equal_codes_and_the_text_names_the_parts() -> None:
    one, other = (
        Signature("all_gather", 1, (1, 32), "BFLOAT16", "dim 3"),
        Signature("all_gather", 0, (1, 32), "BFLOAT16", "dim 3"),
    )
    assert code_of(one) == code_of(Signature(*one)) != code_of(other)
    assert str(one) == "all_gather(shape [1, 32], BFLOAT16, cluster_axis 1, dim 3)"


class Pair:
    """Both ends of a channel in one process."""

    def __init__(self) -> None:
        block = SharedBlock.create(32).unlinked()
        self.ends = [
            SharedChannel(SimpleNamespace(size=2, rank=r, ranks=(3, 9), shared_block=lambda _: block))  # type: ignore[arg-type]
            for r in (0, 1)
        ]
        self.call = Labels().add(None, Signature("a"))
        self.other = Labels().add(None, Signature("b"))


def test_a_channel_knows_who_is_missing_and_who_differs() -> None:
    pair = Pair()
    left, right = pair.ends
    word = left.announce(pair.call)
    assert left.missing(word) == (9,)
    assert left.look(word) == PENDING
    assert not left.spin(word, 10)
    assert right.announce(pair.call) == word
    assert left.spin(word, 0) and left.look(word) == right.look(word) == AGREED
    assert left.missing(word) == ()


def test_a_rank_may_be_one_call_ahead() -> None:
    pair = Pair()
    left, right = pair.ends
    first = left.announce(pair.call)
    right.announce(pair.call)
    right.announce(pair.other)
    assert left.look(first) == AGREED, "the word of the first call is still there"
    second = left.announce(pair.call)
    assert left.look(second) == DIFFERENT
    assert not left.spin(second, 10)


@pytest.mark.parametrize("number", [0, 1, 2**32 - 2, 2**32 - 1])
def test_who_is_one_call_ahead(number: int) -> None:
    """Also where the ordinal of the call no longer fits into its half of the word."""
    pair = Pair()
    left, right = pair.ends
    left.number = right.number = number
    assert left.ahead(pair.call.code) == ()
    word = right.announce(pair.call)
    assert word >> 32 == (number + 1) % 2**32 and word & 0xFFFFFFFF == pair.call.code
    assert left.ahead(pair.call.code) == (9,)
    assert left.ahead(pair.other.code) == right.ahead(pair.call.code) == ()
    assert left.announce(pair.call) == word and left.look(word) == AGREED
    assert left.ahead(pair.call.code) == ()


@pytest.mark.parametrize(
    ("operation", "detail", "same"),
    [
        ("MPI Bcast", "root 1, bytes 8, element float", True),
        ("MPI Bcast", "root 1", True),
        ("MPI Bcast", "root 0, bytes 16, element int", False),
        ("MPI Reduce", "root 1, bytes 16, element int", False),
    ],
)
def test_what_no_rank_may_leave_open(operation: str, detail: str, same: bool) -> None:
    known = Signature("MPI Bcast", detail="root 1, bytes 16, element int")
    assert (Signature(operation, detail=detail).firm == known.firm) == same
    own = known._replace(operation="broadcast")
    assert own.firm == code_of(own) != own._replace(detail="root 1").firm
    read = Signature("read tensor", detail="composed along 0 of 8")
    assert read.firm == read._replace(detail="").firm


def test_notes_of_collectives_that_are_started() -> None:
    both = two_rows()
    mine, other = Started(both, 4), Started(both, 7)
    assert mine.sees((4, 7)) and mine.sees(()) and not mine.sees((4, 8))
    assert mine.seen((4, 7), 5, 1) == {}
    one, two = Note(11, "MPI Ibcast(root 1) at a.py:3"), Note(12, "MPI Ibcast(root 0) at é.py:4")
    mine.tell(5, 1, one)
    other.tell(5, 1, two)
    other.tell(6, 2**32 + 3, one)
    for each in (mine, other):
        assert each.seen((4, 7), 5, 1) == {4: one, 7: two} and each.seen((7,), 5, 1) == {7: two}
        assert each.seen((4, 7), 5, 2) == each.seen((4, 7), 4, 1) == {}
        assert each.seen((4, 7), 6, 2**32 + 3) == each.seen((4, 7), 6, 3) == {7: one}
    mine.forget((4, 7), 5, 1)
    mine.forget((4, 7), 6, 2**32 + 3)
    assert mine.seen((4, 7), 5, 1) == mine.seen((4, 7), 6, 3) == {}
    assert other.seen((4, 7), 5, 1) == {4: one, 7: two}


def test_notes_that_were_written_over_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    both = two_rows()
    mine, other = Started(both, 4), Started(both, 7)
    for number in range(board.NOTES + 2):
        other.tell(1, number, Note(number + 1, "x"))
    found = [number for number in range(board.NOTES + 2) if mine.seen((7,), 1, number)]
    assert found == list(range(2, board.NOTES + 2))
    # What nobody asks for is dropped, the oldest first.
    monkeypatch.setattr(started_calls, "_KEPT", 2)
    other.tell(1, board.NOTES + 2, Note(1, "x"))
    assert [number for number in range(board.NOTES + 3) if mine.seen((7,), 1, number)] == [
        *range(board.NOTES - 1, board.NOTES + 3)
    ]


@pytest.mark.parametrize(("more", "kept"), [(0, True), (1, False)])
def test_a_record_may_fill_its_room(more: int, kept: bool) -> None:
    row = two_rows()[4]
    room = 32768 - 8 - len(json.dumps({"error": "", "histories": {"g": {"1": ["", ""]}}}))
    record = {"error": "x" * (room + more), "histories": {"g": {"1": ["", ""]}}}
    row.write("record", record)
    assert row.read("record") == (record if kept else {"error": "x" * 8192, "histories": record["histories"]})


@pytest.mark.parametrize(("more", "kept"), [(0, True), (1, False)])
def test_the_last_call_of_each_group_may_fill_it_too(more: int, kept: bool) -> None:
    row = two_rows()[4]
    room = 32768 - 8 - len(json.dumps({"error": "", "histories": {"g": {"1": ["", ""]}}}))
    last = {"1": ["", "s" * (room + more)]}
    row.write("record", {"error": "", "histories": {"g": {"0": ["", ""], **last}}})
    assert row.read("record") == {"error": "", "histories": {"g": last} if kept else {}}


def test_a_long_wait_is_a_file_while_it_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(long_wait, "_now", lambda: now[0])
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    file, told = tmp_path / contract.WAIT_FILE.format(rank=3), long_wait.LongWait(3)
    waits = Wait("collective", "all_gather(dim 3)", "p.py:4", (1, 3), 7, (1,), since=99.5, generation=2)
    told.tell(waits, 9)
    told.over()
    assert not file.exists()
    now[0] = 100.5
    told.tell(waits, 9)
    facts = {"call": "all_gather", "number": 9, "site": "p.py:4", "waited": 1.0, "missing": [1]}
    assert json.loads(file.read_text()) == facts
    file.write_text("as it was")
    told.tell(waits, 10)
    assert file.read_text() == "as it was", "told already"
    told.tell(replace(waits, missing=()), 10)
    assert json.loads(file.read_text()) == {**facts, "number": 10, "missing": []}
    told.over()
    told.over()
    assert not file.exists()
    told.tell(waits, 9)
    file.unlink()
    told.over()
    monkeypatch.delenv(contract.RUN_DIR)
    long_wait.LongWait(3).tell(waits, 9)
    assert list(tmp_path.iterdir()) == []


def test_where_a_process_is_that_only_the_kernel_can_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(contract.RUN_DIR, raising=False)
    assert blocked_interpreter.seized_place(0, os.getpid()) == ""
    monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
    path = tmp_path / contract.STACKS_FILE.format(rank=0)
    path.write_text(f"# registered pid={os.getpid()}\n")  # which SIGUSR1 would end
    assert blocked_interpreter.seized_place(0, os.getpid()) == ""
    assert not contract.ask_stacks(os.getpid()) and not contract.ask_stacks(2**22 + 1)
    with path.open("w") as stream:
        faulthandler.register(signal.SIGUSR1, stream, all_threads=True)
        try:
            stream.write(f"# registered pid={os.getpid() + 1}\n")
            stream.flush()
            assert blocked_interpreter.seized_place(0, os.getpid()) == ""
            stream.seek(0)
            stream.write(f"# registered pid={os.getpid()}\n")
            stream.flush()
            found = blocked_interpreter.seized_place(0, os.getpid())
            monkeypatch.delenv(contract.RUN_DIR)
            assert blocked_interpreter.seized_place(0, os.getpid()) == ""
            monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
        finally:
            faulthandler.unregister(signal.SIGUSR1)
    assert found.startswith(f"{__file__}:") and found.endswith(
        " in test_where_a_process_is_that_only_the_kernel_can_ask"
    )
    assert blocked_interpreter.seized_place(1, os.getpid()) == ""


@pytest.mark.parametrize(
    ("pieces", "seconds"),
    [(["", "ab", "cd", ""], 0.1), (["ab", ""], 0.06), (["", "", "ab", "", "cd"], 0.1), ([""] * 60, 0.52)],
)
def test_a_dump_is_read_when_it_grows_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: list[str], seconds: float
) -> None:
    path, now = tmp_path / "stacks", [0.0]
    path.write_text("before")

    def sleep(passed: float) -> None:
        now[0] += passed
        with path.open("a") as stream:
            stream.write(pieces.pop(0))

    monkeypatch.setattr(blocked_interpreter.time, "sleep", sleep)
    monkeypatch.setattr(blocked_interpreter.time, "monotonic", lambda: now[0])
    written = "".join(pieces[: pieces.index("", pieces.index("ab"))] if "ab" in pieces else [])
    assert blocked_interpreter._what_comes(path, 6) == written
    assert now[0] == pytest.approx(seconds, abs=0.025)


def test_what_one_rank_alone_gives_is_no_part_of_what_all_agree_on() -> None:
    told = Signature("MPI Gather", detail="root 1, sends 8+16, bytes 4")
    assert told.alike.detail == "root 1, bytes 4"
    assert code_of(told) == code_of(told._replace(detail="root 1, sends 9, bytes 4")) != 0
    assert (
        told.firm
        == told._replace(detail="root 1, bytes 5, sends 9").firm
        == code_of(told._replace(detail="root 1"))
    )
    assert told.firm != told._replace(detail="root 2").firm
    own = Signature("all_gather", detail="dim 3, bytes 4, composed 2x4")
    assert own.firm == code_of(own._replace(detail="dim 3, bytes 4")) != code_of(own._replace(detail="dim 3"))
