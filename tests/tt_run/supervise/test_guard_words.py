"""What the guard says is left to the report."""

from __future__ import annotations

import pytest

from tt_run.supervise.output.guard_words import MOST_LINES, PATIENT_SECONDS, QUIET_SECONDS, GuardWords

HEAD = [b"Traceback (most recent call last):\n", b'  File "x.py", line 9, in <module>\n', b"    f()\n"]
SAID = [b"tt_run.runtime.guard.report.GuardError: error[TTG001]: ranks 0 and 1 disagree\n", b"  rank 0: a\n"]
OTHER = [*HEAD, b"ValueError: no\n"]
BETWEEN = [b"\n", b"During handling of the above exception, another exception occurred:\n", b"\n"]


def test_its_traceback_is_held() -> None:
    said = [*HEAD, *SAID]
    words = GuardWords()
    assert words.take(0, [b"before\n", *said], 0.0) == [b"before\n"]
    assert words.take(1, said[:2], 0.0) == words.take(1, said[2:], 0.1) == []
    assert words.take(0, [b"after\n"], 0.2) == [b"after\n"]
    assert words.due(QUIET_SECONDS * 2, final=False) == words.due(QUIET_SECONDS * 2, final=True) == []
    assert words.ranks == (0, 1)


def test_what_was_raised_before_is_shown() -> None:
    words = GuardWords()
    assert words.take(0, [*OTHER, *BETWEEN, *HEAD, *SAID], 0.0) == [*OTHER, b"\n"]
    assert words.ranks == (0,)


@pytest.mark.parametrize("said", [OTHER, [*HEAD, *SAID, *BETWEEN, *OTHER], [b"GuardError: error[TTG001]\n"]])
def test_other_words_are_shown_whole(said: list[bytes]) -> None:
    words = GuardWords()
    assert [line for each in said for line in words.take(0, [each], 0.0)] == said
    assert words.ranks == ()


def test_a_traceback_without_an_end_is_shown_when_no_more_is_expected() -> None:
    words = GuardWords()
    assert words.take(0, HEAD, 0.0) == []
    assert words.due(QUIET_SECONDS / 2, final=False) == []
    assert words.due(QUIET_SECONDS * 2, final=False) == [(0, HEAD)]
    words.take(0, HEAD, 0.0)
    assert words.due(0.0, final=True) == [(0, HEAD)]


def test_a_program_that_goes_on_shows_what_it_has_caught() -> None:
    words = GuardWords()
    words.take(0, [*HEAD, *SAID], 0.0)
    assert words.due(PATIENT_SECONDS * 1.1, final=False) == [(0, [*HEAD, *SAID])]
    assert words.ranks == ()


def test_what_no_report_says_is_released() -> None:
    words = GuardWords()
    words.take(1, [*HEAD, *SAID], 0.0)
    assert words.release() == [(1, [*HEAD, *SAID])]
    assert words.ranks == () and words.release() == []


def test_what_never_ends_is_not_held() -> None:
    lines = [*HEAD, *[b"  more\n"] * MOST_LINES]
    assert GuardWords().take(0, lines, 0.0) == lines
