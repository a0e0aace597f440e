"""Patterns of pinnings (reference library 0.81.1)."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mgd.expanding.patterns import PatternError, read_pattern
from tests.examples import examples


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        (r"1|\0", [1]),
        ("3", [3]),
        ("0,2,4-6", [0, 2, 4, 5, 6]),
        (" 7 , 1 ", [1, 7]),
        ("1,", [1]),
        ("0-1-2", [0, 1]),
        ("5-5", [5]),
        ("90-99999", []),
        (".*", list(range(12))),
        ("[0-9]", list(range(10))),
        ("1[01]", [10, 11]),
        ("(?:1|2)", [1, 2]),
        (r"\d\d", [10, 11]),
        ("[[:digit:]]", list(range(10))),
        ("(?!1)[0-9]", [0, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("1?0", [0, 10]),
        ("[0-9]{2}", [10, 11]),
        ("1{1,1}", [1]),
        ("1{0,1000}", [1, 11]),
        ("1{1000}", []),
        ("0|" * 99 + "11", [0, 11]),
        ("1?" * 8, [1, 11]),
        ("abc", []),
    ],
)
def test_selection(text: str, chosen: list[int]) -> None:
    assert list(read_pattern(text).select(range(12))) == chosen
    assert list(read_pattern(text).select(tuple(range(12)))) == chosen


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "blank"),
        ("  \t", "blank"),
        ("0,,2", "empty entry"),
        (",", "empty entry"),
        ("1-", "malformed range"),
        ("-3", "malformed range"),
        ("5-2", "backwards"),
        ("1 2", "malformed range"),
        ("(1", "not a regular expression"),
        ("[1", "not a regular expression"),
        ("*1", "nothing to repeat"),
        ("1**", "nothing to repeat"),
        ("1++", "nothing to repeat"),
        ("(?P<a>1)", "not an ECMAScript group"),
        ("(?i)1", "not an ECMAScript group"),
        (r"(1)\1", "not supported"),
        ("1{2,1}", "malformed repetition"),
        ("1{,2}", "malformed repetition"),
        ("1{5000}", "larger than 1000"),
        ("1{1001}", "larger than 1000"),
        ("1{1,1001}", "larger than 1000"),
        ("1?" * 9, "more than 8 quantifiers"),
        (".*" * 9, "more than 8 quantifiers"),
        ("0|" * 200 + "1", "longer than 200"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        read_pattern(text)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=5))
def test_lists_choose_what_they_name(pairs: list[tuple[int, int]]) -> None:
    ranges = [(min(pair), max(pair)) for pair in pairs]
    text = ", ".join(f"{low}-{high}" if low != high else str(low) for low, high in ranges)
    wanted = [n for n in range(25) if any(low <= n <= high for low, high in ranges)]
    assert list(read_pattern(text).select(range(25))) == wanted


@settings(max_examples=examples(300), deadline=None)
@given(st.text(alphabet="0123[]()|*+?.^$\\d{},-:=!", max_size=12))
def test_what_is_accepted_never_surprises(text: str) -> None:
    try:
        pattern = read_pattern(text)
    except PatternError:
        return
    chosen = pattern.select(range(40))
    assert list(chosen) == sorted(set(chosen))
    assume(pattern.expression is not None)
    assert list(chosen) == [n for n in range(40) if re.fullmatch(pattern.expression or "", str(n))]
