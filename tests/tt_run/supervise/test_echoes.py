"""One mistake that all ranks make is shown once."""

from __future__ import annotations

import pytest

from tt_run.supervise.output.echoes import GATHER_SECONDS, MOST_LINES, QUIET_SECONDS, Echoes

TRACE = [
    b"Traceback (most recent call last):\n",
    b'  File "x.py", line 9, in <module>\n',
    b"    f()\n",
    b"ValueError: no\n",
]
SYNTAX = [b'  File "x.py", line 2\n', b"    a b\n", b"      ^\n", b"SyntaxError: invalid syntax\n"]
CHAIN = [
    *TRACE,
    b"\n",
    b"During handling of the above exception, another exception occurred:\n",
    b"\n",
    *TRACE,
]


@pytest.mark.parametrize("trace", [TRACE, SYNTAX, CHAIN])
def test_a_traceback_is_shown_once(trace: list[bytes]) -> None:
    echoes = Echoes()
    assert echoes.take(1, trace, 0.0) == trace
    assert echoes.take(0, trace, 0.1) == []
    assert echoes.take(2, trace[:2], 0.1) == []
    assert echoes.take(2, trace[2:], 0.2) == []
    assert echoes.due(0.2, final=True) == ([], "ranks 0, 2 printed the same")
    assert echoes.due(0.3, final=True) == ([], "")


def test_ranks_that_name_themselves_say_the_same() -> None:
    echoes = Echoes()
    assert echoes.take(3, [*TRACE[:3], b"RuntimeError: rank 3 is stuck\n"], 0.0) != []
    assert echoes.take(12, [*TRACE[:3], b"RuntimeError: rank 12 is stuck\n"], 0.0) == []
    other = [*TRACE[:3], b"RuntimeError: rank 3 is stuck\n"]
    assert echoes.take(1, other[:3], 0.0) == [] and echoes.take(1, other[3:], 0.0) == other
    assert echoes.due(0.1, final=True) == ([], "rank 12 printed the same")


def test_a_line_of_many_words_is_no_mistake_of_the_programs_own() -> None:
    echoes = Echoes()
    for rank in (0, 1):
        assert echoes.take(rank, [b"errors: 3\n"], 0.0) == [b"errors: 3\n"]


@pytest.mark.parametrize(
    "words",
    [
        [b"error: c.yaml:2:3: unknown key\n", b"  help: none\n"],
        [b"usage: train.py [-h]\n", b"train.py: error: no such option\n"],
    ],
)
def test_so_are_words_of_the_programs_own(words: list[bytes]) -> None:
    echoes = Echoes()
    assert echoes.take(1, words, 0.0) == words
    assert echoes.take(0, words, 0.1) == []
    assert echoes.due(0.2, final=True) == ([], "rank 0 printed the same")


def test_it_is_told_when_nothing_more_is_expected() -> None:
    echoes = Echoes()
    echoes.take(0, TRACE, 0.0)
    echoes.take(1, TRACE, 0.0)
    assert echoes.due(QUIET_SECONDS / 2, final=False) == ([], "")
    assert echoes.due(QUIET_SECONDS * 2, final=False) == ([], "")
    assert echoes.due(QUIET_SECONDS * 2 + GATHER_SECONDS * 1.1, final=False) == (
        [],
        "rank 1 printed the same",
    )


def test_the_first_that_printed_the_same_decides_when_all_are_told() -> None:
    echoes = Echoes()
    echoes.take(0, TRACE, 0.0)
    echoes.take(1, TRACE, 0.0)
    first = QUIET_SECONDS * 1.1
    assert echoes.due(first, final=False) == ([], "")
    echoes.take(2, TRACE, first)
    assert echoes.due(first + QUIET_SECONDS * 1.1, final=False) == ([], "")
    assert echoes.due(first + GATHER_SECONDS * 1.1, final=False) == ([], "ranks 1-2 printed the same")


@pytest.mark.parametrize(
    "other",
    [
        [*TRACE[:3], b"ValueError: yes\n"],
        [*TRACE[:2], b"    g()\n", TRACE[3]],
        TRACE[:3],
        [*TRACE, b"and more\n"],
        [b"a warning\n"],
    ],
)
def test_what_differs_is_shown_whole(other: list[bytes]) -> None:
    echoes = Echoes()
    echoes.take(0, TRACE, 0.0)
    shown = echoes.take(1, other, 1.0)
    held, same = echoes.due(2.0, final=True)
    assert shown + [line for _, lines in held for line in lines] == other
    assert same == ""


def test_a_rank_that_is_ahead_of_the_one_that_began() -> None:
    echoes = Echoes()
    echoes.take(0, TRACE[:1], 0.0)
    assert echoes.take(1, TRACE, 0.0) == []
    assert echoes.take(0, TRACE[1:], 0.1) == TRACE[1:]
    assert echoes.due(0.1, final=True) == ([], "rank 1 printed the same")


def test_a_rank_that_prints_one_twice_shows_both() -> None:
    echoes = Echoes()
    assert echoes.take(0, [*TRACE, *TRACE], 0.0) == [*TRACE, *TRACE]


def test_endless_output_after_a_traceback_is_not_remembered() -> None:
    echoes = Echoes()
    lines = [*TRACE, *[b"more\n"] * MOST_LINES]
    assert echoes.take(0, lines, 0.0) == lines
    assert echoes.take(1, TRACE, 0.0) == TRACE
