"""What the console shows of the ranks' logs."""

from __future__ import annotations

import errno
import io

import pytest

from tests.tt_run.supervise.conftest import Records
from tt_run.errors import UsageError
from tt_run.supervise.options import Tee
from tt_run.supervise.output.console import AT_ONCE, Console, last_lines
from tt_run.supervise.output.progress import Progress


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Screen:
    """A console over a run folder, with what it has shown."""

    def __init__(
        self, records: Records, tee: str = "all", prefixes: bool = True, colour: bool = False
    ) -> None:
        self.out, self.err, self.clock = io.BytesIO(), io.BytesIO(), Clock()
        self.records = records
        self.console = Console(
            records.folder, records.size, Tee.parse(tee), self.out, self.err, self.clock, colour, prefixes
        )

    def write(self, rank: int, text: str, error: bool = False) -> None:
        path = self.records.folder.err(rank) if error else self.records.folder.out(rank)
        with path.open("a") as stream:
            stream.write(text)

    def pump(self, final: bool = False) -> tuple[str, str]:
        self.console.pump(final)
        return self.out.getvalue().decode(), self.err.getvalue().decode()


def test_lines_carry_their_rank_and_streams_stay_apart(records: Records) -> None:
    screen = Screen(records)
    screen.write(0, "one\ntwo\n")
    screen.write(1, "wrong\n", error=True)
    assert screen.pump() == ("[0] one\n[0] two\n", "[1] wrong\n")


def test_ranks_are_aligned(records: Records) -> None:
    records.size = 12
    screen = Screen(records)
    screen.write(3, "x\n")
    screen.write(11, "y\n")
    assert screen.pump()[0] == "[ 3] x\n[11] y\n"


def test_only_what_is_new_is_shown(records: Records) -> None:
    screen = Screen(records)
    screen.write(0, "one\n")
    screen.pump()
    screen.write(0, "two\n")
    assert screen.pump()[0] == "[0] one\n[0] two\n"


TRACE = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    f()\nValueError: no\n'


def test_a_traceback_that_all_ranks_print_is_shown_once(records: Records) -> None:
    records.size = 3
    screen = Screen(records)
    for rank in range(3):
        screen.write(rank, TRACE, error=True)
        screen.write(rank, f"of {rank}\n")
    shown = "".join(f"[0] {line}\n" for line in TRACE.splitlines())
    out, err = screen.pump(final=True)
    assert err == f"{shown}tt-run: ranks 1-2 printed the same\n"
    assert out == "[0] of 0\n[1] of 1\n[2] of 2\n"
    assert screen.console.last_shown == 2


def test_without_ranks_in_front_every_line_is_shown(records: Records) -> None:
    screen = Screen(records, prefixes=False)
    screen.write(0, TRACE, error=True)
    screen.write(1, TRACE, error=True)
    assert screen.pump(final=True)[1] == TRACE + TRACE


def test_a_traceback_that_begins_alike_is_shown_in_the_end(records: Records) -> None:
    screen = Screen(records)
    screen.write(0, TRACE, error=True)
    screen.write(1, TRACE[:60], error=True)
    screen.pump()
    assert screen.pump(final=True)[1].count("[1] ") == 2


def test_a_line_is_shown_whole(records: Records) -> None:
    screen = Screen(records)
    screen.write(0, "half a ")
    assert screen.pump()[0] == ""
    screen.write(0, "line\n")
    assert screen.pump()[0] == "[0] half a line\n"


def test_an_unfinished_line_is_shown_after_a_second(records: Records) -> None:
    screen = Screen(records)
    screen.write(0, "prompt> ")
    screen.pump()
    screen.clock.now = 2.0
    assert screen.pump()[0] == "[0] prompt> \n"


def test_the_last_line_needs_no_line_end(records: Records) -> None:
    screen = Screen(records)
    screen.write(0, "the end")
    screen.write(1, "here too")
    assert screen.pump(final=True)[0] == "[0] the end\n[1] here too\n"


def test_a_large_output_is_complete(records: Records) -> None:
    screen = Screen(records, prefixes=False)
    text = "".join(f"line {number}\n" for number in range(30_000))
    screen.write(0, text)
    assert screen.pump()[0] == text


def test_bytes_that_are_no_text_pass(records: Records) -> None:
    screen = Screen(records)
    records.folder.out(0).write_bytes(b"\xff\x00\xfe\n")
    screen.console.pump()
    assert screen.out.getvalue() == b"[0] \xff\x00\xfe\n"


def test_each_rank_has_a_colour_of_its_own(records: Records) -> None:
    """The same in every run, and again from the first one after the last."""
    screen = Screen(records, colour=True)
    screen.write(0, "x\n")
    screen.write(1, "y\n")
    assert screen.pump()[0] == "\x1b[36m[0] \x1b[0mx\n\x1b[33m[1] \x1b[0my\n"


@pytest.mark.parametrize(
    ("tee", "out", "err"),
    [
        ("all", "[0] a\n[1] b\n", "[0] c\n[1] d\n"),
        ("first", "[0] a\n", "[0] c\n[1] d\n"),
        ("errors", "", "[0] c\n[1] d\n"),
        ("none", "", ""),
        ("1", "[1] b\n", "[1] d\n"),
    ],
)
def test_what_is_shown_can_be_chosen(records: Records, tee: str, out: str, err: str) -> None:
    screen = Screen(records, tee)
    for rank, text, error in ((0, "a\n", False), (1, "b\n", False), (0, "c\n", True), (1, "d\n", True)):
        screen.write(rank, text, error)
    assert screen.pump() == (out, err)


def test_what_is_not_shown_is_still_a_sign_of_life(records: Records) -> None:
    screen = Screen(records, "none")
    screen.write(1, "x\n")
    assert screen.console.pump()
    assert not screen.console.pump()


@pytest.mark.parametrize("text", ["", "some", "1,x", "-"])
def test_a_wrong_choice_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Tee.parse(text)
    assert caught.value.diagnostics[0].code == "TTR033"


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (BrokenPipeError(), ""),
        (ValueError("I/O operation on closed file"), ""),
        (
            FULL,
            "tt-run: nothing more can be printed (No space left on device); the ranks go on, and {} has all of it\n",
        ),
    ],
    ids=["a reader that has gone", "closed", "a full disk"],
)
def test_an_output_that_takes_no_more_is_no_failure_and_the_other_goes_on(
    records: Records, trouble: Exception, said: str
) -> None:
    class Gone(io.BytesIO):
        def write(self, data: object) -> int:
            raise trouble

    errors = io.BytesIO()
    console = Console(records.folder, 2, Tee(), Gone(), errors, Clock())
    records.folder.out(0).write_text("x\n")
    console.pump()
    records.folder.out(0).write_text("x\ny\n")
    records.folder.err(1).write_text("z\n")
    console.pump(final=True)
    assert console.shown_bytes > 0
    assert errors.getvalue().decode() == said.format(records.folder.path) + "[1] z\n"


def test_last_lines(records: Records) -> None:
    path = records.folder.out(0)
    path.write_text("a\n\nb\x00\n  \nc")
    assert last_lines(path, 2) == ["b", "c"]
    assert last_lines(records.folder.out(1), 2) == []


class TestProgress:
    def shown(self, size: int, *steps: tuple[int, float]) -> str:
        stream = io.StringIO()
        progress = Progress(stream, size)
        for started, elapsed in steps:
            progress.update(started, elapsed)
        return stream.getvalue()

    def test_many_ranks_that_take_their_time(self) -> None:
        text = self.shown(16, (3, 0.1), (5, 0.6), (5, 0.7), (16, 0.8))
        assert text == "\r\x1b[Ktt-run: 5 of 16 ranks started\r\x1b[K"

    def test_few_ranks_need_none(self) -> None:
        assert self.shown(7, (1, 3.0)) == "" and self.shown(8, (1, 3.0)) != ""

    def test_without_a_terminal_there_is_none(self) -> None:
        Progress(None, 16).update(3, 5.0)

    def test_what_was_never_shown_is_not_taken_away(self) -> None:
        stream = io.StringIO()
        Progress(stream, 16).clear()
        assert stream.getvalue() == ""


class TestMuchAtOnce:
    """Whoever writes faster than a terminal shows does not keep signals and deadlines waiting."""

    def test_one_call_shows_a_bounded_part(self, records: Records) -> None:
        screen = Screen(records)
        screen.write(0, "x" * 99 + "\n")
        screen.write(0, ("y" * 99 + "\n") * (3 * AT_ONCE // 100))
        screen.pump()
        assert screen.console.behind and len(screen.out.getvalue()) < 1.5 * AT_ONCE
        calls = 1
        while screen.console.behind:
            screen.pump(final=True)
            calls += 1
        assert calls == 4 and screen.out.getvalue().count(b"\n") == 3 * AT_ONCE // 100 + 1

    def test_a_long_line_is_read_once(self, records: Records) -> None:
        """Each part of it used to be copied with every further one: 31 s for 32 MB."""
        screen = Screen(records)
        screen.write(0, "x" * (8 * AT_ONCE) + "\nend")
        screen.pump(final=True)
        while screen.console.behind:
            screen.pump(final=True)
        assert screen.out.getvalue() == b"[0] " + b"x" * (8 * AT_ONCE) + b"\n[0] end\n"
        assert all(not stream.partial for stream in screen.console._streams)

    def test_a_line_without_end_is_cut_somewhere(
        self, records: Records, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tt_run.supervise.output.console.LONGEST_LINE", 2 * AT_ONCE)
        screen = Screen(records)
        screen.write(0, "x" * (5 * AT_ONCE))
        for _ in range(6):
            screen.pump(final=True)
        assert screen.out.getvalue().count(b"x") == 5 * AT_ONCE
        assert max(map(len, screen.out.getvalue().splitlines())) < 3 * AT_ONCE + 100

    def test_what_is_skipped_is_told(self, records: Records) -> None:
        screen = Screen(records)
        screen.write(0, "y" * (3 * AT_ONCE))
        screen.pump()
        screen.console.skip_to_end()
        last = screen.out.getvalue().splitlines()[-1].decode()
        assert last == f"[0] tt-run: {2 * AT_ONCE} bytes more in {records.folder.out(0)}"
        assert not screen.console.pump(final=True)


def test_logs_are_shown_again_in_the_order_in_which_they_grew(records: Records) -> None:
    """Lines in one piece, whatever the moment at which a stream was looked at; what the order does not have comes at the end."""
    order, shown = io.BytesIO(), io.BytesIO()
    console = Console(records.folder, 2, Tee(), io.BytesIO(), io.BytesIO(), Clock(), order=order)
    for rank, text in ((0, "a1\n"), (1, "b1\nb2 be"), (0, "a2\n"), (1, "gun\n"), (0, "a3\n")):
        with records.folder.out(rank).open("a") as log:
            log.write(text)
        console.pump()
    with records.folder.out(1).open("a") as log:
        log.write("b3\n")
    again = Console(records.folder, 2, Tee(), shown, shown, Clock(), echoes=None)
    again.show_in_order(order.getvalue() + b"0 0 x\n7 0 12\n")
    again.pump(final=True)
    assert shown.getvalue().decode().split() == ["[0]", "a1", "[1]", "b1", "[0]", "a2", "[1]", "b2", "begun", "[0]", "a3", "[1]", "b3"]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [("0,1", ""), ("all", ""), ("1,2", "--tee 2: the job has rank"), ("-1,9,5", "--tee -1,5,9: ")],
)
def test_ranks_that_the_job_does_not_have(text: str, words: str) -> None:
    found = [each.message for each in Tee.parse(text).unfit(2)]
    assert len(found) == bool(words) and words in "".join(found)
