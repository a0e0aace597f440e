"""Stacks of ranks: read, grouped, and what they prove about a hang."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tt_run.supervise.conftest import Records
from tt_run.contract import PLACE_FILE
from tt_run.supervise.looking.stack_tree import without_emulation
from tt_run.supervise.looking.stacks import (
    Frame,
    RankStack,
    collect,
    grouped,
    parse_stack,
    rank_list,
    read_frame,
    registered_pids,
)
from tt_run.supervise.verdict.hang import HangFinding, HangWatch, stack_lines, stranded

ROOT = Path(__file__).parents[3]
DUMP = """\
# registered pid=42
Thread 0x00007f1 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait
  File "/usr/lib/python3.11/threading.py", line 629 in wait

Current thread 0x00007f2 (most recent call first):
  File "/opt/venv/lib/python3.11/site-packages/thing/core.py", line 7 in inner
  File "/project/train.py", line 12 in step
  File "/project/train.py", line 30 in <module>
"""


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("/p/train.py:12 in step: x = 1", Frame("/p/train.py", 12, "step", "x = 1")),
        ("/p/train.py:12 in step", Frame("/p/train.py", 12, "step", "")),
        ("a line of another debugger", Frame("a line of another debugger", 0, "")),
    ],
)
def test_a_frame_is_read_from_its_words(text: str, frame: Frame) -> None:
    assert read_frame(text) == frame


def test_the_main_thread_is_read() -> None:
    stack = parse_stack(3, DUMP)
    assert [(frame.line, frame.function) for frame in stack.frames] == [
        (7, "inner"),
        (12, "step"),
        (30, "<module>"),
    ]


def test_a_process_that_took_the_ranks_place_has_its_own_stack() -> None:
    assert parse_stack(3, f"{DUMP}# registered pid=77\n") == RankStack(3)


def test_the_place_is_in_the_users_code() -> None:
    assert parse_stack(3, DUMP).where == Frame("/project/train.py", 12, "step")


EMULATED = """Thread 0x1 (most recent call first):
  File "<string>", line 6 in __init__
  File "/x/tt_run/runtime/guard/watch.py", line 125 in wait
  File "/x/tt_run/runtime/ccl/calls.py", line 40 in pieces
  File "<string>", line 3 in step
  File "<string>", line 9 in <module>
"""


def test_code_made_from_a_text_is_whose_its_caller_is() -> None:
    """What a dataclass makes inside of the emulation is the emulation's; a program of `python -c` is the user's."""
    stack = parse_stack(3, EMULATED)
    assert stack.where == Frame("<string>", 3, "step")
    assert [frame.line for frame in without_emulation(stack).frames] == [3, 9]


@pytest.mark.parametrize(
    ("line", "in_mpi"),
    [
        ("comm.Barrier()", True),
        ("total = comm.allreduce(x)", True),
        ("MPI.COMM_WORLD.Recv(buffer, source=0)", True),
        ("data = comm.bcast(data, root=0)", True),
        ("request.Wait()", True),
        ("time.sleep(5)", False),
        ("weights = compute(x)", False),
        ("from mpi4py import MPI", True),
    ],
)
def test_a_line_that_calls_mpi_is_recognised(line: str, in_mpi: bool) -> None:
    assert RankStack(0, (Frame("x.py", 1, "f", line),)).in_mpi is in_mpi


@pytest.mark.parametrize("file", ["ccl/exchange/window.py", "comm/arrival.py"])
def test_the_emulation_waits_for_others_without_mpi(file: str) -> None:
    assert (ROOT / "tt_run" / "runtime" / file).is_file()
    user = Frame("/project/train.py", 3, "<module>", "ttnn.open_mesh_device(shape)")
    stack = RankStack(0, (Frame(f"/env/tt_run/runtime/{file}", 9, "wait", "sleep(nap)"), user))
    assert stack.in_mpi
    assert stack.where == user


@pytest.mark.parametrize(
    ("file", "line", "in_mpi"),
    [
        ("own_mpi/communicators.py", "return library(self, *words, **named)", True),
        ("own_mpi/communicators.py", "meet(members_of(self), operation, detail, self)", False),
        ("record/mpi/crossing.py", "made.append(real(*args, **kwargs))", True),
        ("record/mpi/crossing.py", "facts = facts_of(name, words, given, at.size)", False),
    ],
)
def test_a_call_that_is_passed_on_to_the_library_waits_in_mpi(file: str, line: str, in_mpi: bool) -> None:
    user = Frame("/project/train.py", 3, "<module>", "found = gather_all(comm)")
    passed_on = Frame(f"/env/tt_run/runtime/{file}", 9, "call", line)
    assert RankStack(0, (passed_on, user)).in_mpi is in_mpi


def test_no_stack_proves_nothing() -> None:
    assert RankStack(0).where is None
    assert not RankStack(0).in_mpi


def test_the_smallest_group_comes_first() -> None:
    barrier, sleep = Frame("x.py", 5, "f", "comm.Barrier()"), Frame("x.py", 3, "f", "time.sleep(9)")
    stacks = [RankStack(n, (sleep if n == 2 else barrier,)) for n in range(4)]
    assert grouped(stacks) == [(sleep, [2]), (barrier, [0, 1, 3])]


@pytest.mark.parametrize(
    ("ranks", "text"),
    [([3], "rank 3"), ([0, 1, 2], "ranks 0-2"), ([5, 1, 2, 9], "ranks 1-2, 5, 9"), ([0, 2], "ranks 0, 2")],
)
def test_ranks_as_people_write_them(ranks: list[int], text: str) -> None:
    assert rank_list(ranks) == text


@given(st.sets(st.integers(0, 40), min_size=1))
def test_a_list_of_ranks_names_each_once(ranks: set[int]) -> None:
    named: set[int] = set()
    for part in rank_list(sorted(ranks)).partition(" ")[2].split(", "):
        first, _, last = part.partition("-")
        named |= set(range(int(first), int(last or first) + 1))
    assert named == ranks


def test_registered_processes_are_known(records: Records) -> None:
    records.folder.stacks(0).write_text("# registered pid=42\n# registered pid=77\n")
    assert registered_pids(records.folder, 0) == [42, 77]
    assert registered_pids(records.folder, 1) == []


class DeadJob:
    """A job that must not be asked for anything."""

    pid = 0

    def poll(self) -> int | None:
        return None

    def send(self, number: int) -> None:
        raise AssertionError("no rank has registered, so nobody may be signalled")

    def kill(self) -> None:
        raise AssertionError

    def processes(self) -> dict[int, int]:
        return {}


def test_nobody_is_signalled_who_has_not_registered(records: Records) -> None:
    """SIGUSR1 would kill them."""
    records.status(0, pid=1, pgid=1)
    records.status(1, host="elsewhere", pid=1, pgid=1)
    records.folder.stacks(1).write_text("# registered pid=99\n")  # a child, while the program itself has not
    stacks = collect(records.board, DeadJob(), records.folder, "vm")
    assert stacks == [RankStack(0), RankStack(1)]


def test_a_program_that_has_taken_a_ranks_place_is_not_signalled(records: Records) -> None:
    """It would end of it, and be blamed for that."""
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            records.status(0, pid=other.pid, pgid=other.pid)
            records.folder.stacks(0).write_text(f"# registered pid={other.pid}\n")
            assert collect(records.board, DeadJob(), records.folder, "vm") == [RankStack(0)]
            with pytest.raises(subprocess.TimeoutExpired):
                other.wait(0.1)
        finally:
            other.kill()


def test_a_slow_answer_is_waited_for(records: Records, tmp_path: Path) -> None:
    path, dump = records.folder.stacks(0), tmp_path / "dump"
    dump.write_text('Thread 0x1 (most recent call first):\n  File "/u/a.py", line 7 in step\n')
    script = """trap 'sleep 0.15; cat "$1" >> "$0"; exit' USR1; echo ready; while :; do sleep 0.02; done"""
    with subprocess.Popen(["sh", "-c", script, path, dump], stdout=subprocess.PIPE) as slow:
        try:
            assert slow.stdout is not None and slow.stdout.readline()
            records.status(0, pid=slow.pid, pgid=slow.pid)
            path.write_text(f"# registered pid={slow.pid}\n")
            [stack] = collect(records.board, DeadJob(), records.folder, "vm")
        finally:
            slow.kill()
    assert [(frame.file, frame.line) for frame in stack.frames] == [("/u/a.py", 7)]


BARRIER = RankStack(0, (Frame("x.py", 5, "f", "comm.Barrier()"),))


class TestStranded:
    def test_a_rank_that_never_entered_mpi(self, records: Records) -> None:
        records.status(0)
        records.status(1, end=2.0, exit=0)
        records.ending(1, "never")
        assert stranded(records.board, [BARRIER]) == (
            "rank 1 ended with 0 without ever entering MPI, while rank 0 waits in MPI at x.py:5"
        )

    def test_a_rank_at_its_end(self, records: Records) -> None:
        records.status(0)
        records.status(1)
        records.ending(1, "open")
        assert "rank 1 reached the end of the program" in str(
            stranded(records.board, [BARRIER, RankStack(1)])
        )

    def test_a_rank_that_computes_is_not_stranded(self, records: Records) -> None:
        records.status(0)
        records.status(1, end=2.0, exit=0)
        assert stranded(records.board, [RankStack(0, (Frame("x.py", 5, "f", "work()"),))]) is None

    def test_a_rank_without_a_stack_is_not_judged(self, records: Records) -> None:
        records.status(0)
        records.status(1, end=2.0, exit=0)
        assert stranded(records.board, [RankStack(0)]) is None

    def test_with_everybody_there_nobody_is_stranded(self, records: Records) -> None:
        records.status(0)
        records.status(1)
        assert stranded(records.board, [BARRIER, RankStack(1, BARRIER.frames)]) is None


def test_lines_name_the_odd_one_out(records: Records) -> None:
    records.size = 3
    for rank in range(3):
        records.status(rank)
    stacks = [RankStack(n, (Frame("x.py", 3 if n == 1 else 5, "f"),)) for n in range(3)]
    lines = stack_lines(stacks, records.board)
    assert lines == ["rank 1: x.py:3 in f  <- the odd one out", "ranks 0, 2: x.py:5 in f"]


def test_lines_say_who_is_stopped_and_cannot_say_where(records: Records) -> None:
    records.status(0)
    records.status(1)
    lines = stack_lines([RankStack(0, (Frame("x.py", 3, "f"),)), RankStack(1)], records.board, stopped=(1,))
    assert lines == ["rank 1: stopped by a signal", "rank 0: x.py:3 in f"]


COMPUTES = RankStack(0, (Frame("x.py", 3, "f", "x = work(x)"),))


class Quiet:
    """A run in which nothing is printed, seen by a watch with a clock and stacks that the test sets."""

    def __init__(self, records: Records, seconds: float | None, automatic: bool = True) -> None:
        self.now = 0.0
        self.records = records
        self.stacks: list[RankStack] = [BARRIER]
        self.asked = 0
        self.watch = HangWatch(seconds, automatic, clock=lambda: self.now, ask=self._ask)

    def _ask(self, *_: object) -> list[RankStack]:
        self.asked += 1
        return list(self.stacks)

    def look(self, at: float, progress: bool = False) -> HangFinding | None:
        self.now = at
        return self.watch.look(self.records.board, DeadJob(), progress)


class TestHangWatch:
    @pytest.fixture(autouse=True)
    def running(self, records: Records) -> None:
        records.status(0)
        records.status(1)

    def test_the_one_rank_that_has_not_ended_is_named(self, records: Records) -> None:
        records.status(0, end=9.0, exit=0)
        quiet = Quiet(records, 60)
        quiet.stacks = [RankStack(1, COMPUTES.frames)]
        found = [quiet.look(61), quiet.look(61 + 5)][1]
        assert found is not None and found.late == (1,)
        assert found.why.endswith("rank 1 alone has not ended, and is at x.py:3")

    def test_a_loop_that_always_looks_the_same_goes_on_while_calls_are_counted(
        self, records: Records
    ) -> None:
        quiet = Quiet(records, 60)
        place = records.folder.path / PLACE_FILE.format(rank=1)
        for second in range(60, 100, 2):
            place.write_text(f"\nall_gather() at x.py:3\n{second}\n".ljust(1024))
            assert quiet.look(second) is None
        assert quiet.asked
        assert quiet.look(170) is None and quiet.look(172) is not None

    def test_a_deadline_that_passes_without_a_sign_of_life(self, records: Records) -> None:
        quiet = Quiet(records, 60)
        assert quiet.look(59) is None and quiet.asked == 0
        assert quiet.look(60) is None
        finding = quiet.look(62)
        assert finding is not None and finding.why == "no rank has made progress for 62 s"
        assert finding.late == ()

    @pytest.mark.parametrize(
        ("code", "late"),
        [
            ('load("data")', (1,)),
            ("while not request.Test():\n    time.sleep(1)", ()),  # it waits, too, in its own way
        ],
    )
    def test_who_is_in_no_mpi_call_is_waited_for(
        self, records: Records, tmp_path: Path, code: str, late: tuple[int, ...]
    ) -> None:
        program = tmp_path / "prog.py"
        program.write_text(code)
        line = 1 + code.count("\n")
        quiet = Quiet(records, 60)
        hook = Frame("/x/tt_run/launch/hook/sitecustomize.py", 5, "wait", "threading.Event().wait()")
        inner = Frame("/usr/lib/python3.11/threading.py", 327, "wait", "waiter.acquire()")
        waits = Frame("/w/a.py", 3, "<module>", "comm.Barrier()")
        quiet.stacks = [RankStack(0, (waits,)), RankStack(1, (inner, hook, Frame(str(program), line, "f")))]
        quiet.look(60)
        finding = quiet.look(62)
        assert finding is not None and finding.late == late
        where = f": rank 0 waits for rank 1, which is at {program}:{line}"
        assert finding.why == "no rank has made progress for 62 s" + (where if late else "")

    def test_where_all_compute_nobody_is_waited_for(self, records: Records) -> None:
        quiet = Quiet(records, 60)
        quiet.stacks = [RankStack(rank, COMPUTES.frames) for rank in (0, 1)]
        found = [quiet.look(61), quiet.look(61 + 5)][1]
        assert found is not None and found.late == ()

    def test_output_starts_it_anew(self, records: Records) -> None:
        quiet = Quiet(records, 60)
        quiet.look(59, progress=True)
        assert quiet.look(100) is None and quiet.asked == 0

    def test_a_guard_that_asks_again_is_no_sign_of_life(self, records: Records) -> None:
        """Ranks that wait for each other's messages look for them in ever other lines of the runtime."""
        guard, own = "/x/tt_run/runtime/guard/", Frame("/w/a.py", 3, "<module>", "comm.Recv(b, 1)")
        asks = Frame(f"{guard}watch.py", 175, "wait_until")
        quiet = Quiet(records, 20)
        looks = [(Frame(f"{guard}own_traffic.py", 51, "moves"), asks, own), (asks, own)]
        quiet.stacks = [RankStack(rank, looks[rank]) for rank in (0, 1)]
        for rank in (0, 1):
            facts = {"call": "MPI Recv", "number": 3, "site": "a.py:3", "waited": 20.0, "missing": [1 - rank]}
            (records.folder.path / f"rank-{rank:04d}.wait").write_text(json.dumps(facts))
        assert quiet.look(20) is None
        quiet.stacks = [RankStack(rank, looks[1 - rank]) for rank in (0, 1)]
        finding = quiet.look(22)
        assert finding is not None
        assert (
            finding.why
            == "no rank has made progress for 22 s: rank 0 waits for rank 1, rank 1 waits for rank 0"
        )

    def test_a_runtime_that_computes_is_a_sign_of_life(self, records: Records) -> None:
        quiet = Quiet(records, 20)
        for at, line in ((20, 4), (22, 5)):
            inner = Frame("/x/tt_run/runtime/kernels/matmul.py", line, "product")
            quiet.stacks = [RankStack(0, (inner, *COMPUTES.frames))]
            assert quiet.look(at) is None

    def test_a_stack_that_moves_is_a_sign_of_life(self, records: Records) -> None:
        quiet = Quiet(records, 60)
        quiet.look(60)
        quiet.stacks = [COMPUTES]
        assert quiet.look(62) is None
        assert quiet.look(100) is None
        assert quiet.asked == 2

    def test_without_a_deadline_and_with_everybody_there_nobody_is_asked(self, records: Records) -> None:
        quiet = Quiet(records, None)
        assert quiet.look(10_000) is None and quiet.asked == 0

    def test_the_automatic_rule(self, records: Records) -> None:
        records.status(1, end=2.0, exit=0)
        records.ending(1, "never")
        quiet = Quiet(records, None)
        assert quiet.look(29) is None and quiet.look(31) is None
        finding = quiet.look(33)
        assert finding is not None and "rank 1 ended with 0 without ever entering MPI" in finding.why

    def test_the_automatic_rule_spares_a_rank_that_computes(self, records: Records) -> None:
        records.status(1, end=2.0, exit=0)
        quiet = Quiet(records, None)
        quiet.stacks = [COMPUTES]
        assert all(quiet.look(float(second)) is None for second in range(0, 600, 2))

    def test_the_automatic_rule_can_be_switched_off(self, records: Records) -> None:
        records.status(1, end=2.0, exit=0)
        quiet = Quiet(records, None, automatic=False)
        assert quiet.look(1000) is None and quiet.asked == 0
