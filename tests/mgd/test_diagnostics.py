"""Words of inputs in what is printed: on one line, and no longer than a screen."""

from __future__ import annotations

import pytest

from mgd.diagnostics import LONGEST_WORD, on_one_line, showable


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("runs/a b", "runs/a b"),
        ("it's\\n", "it's\\n"),
        ("a\nb", r"$'a\nb'"),
        ("a\rb\n\n", r"$'a\rb\n\n'"),
        ("\nit's \\n", r"$'\nit\'s \\n'"),
    ],
)
def test_a_name_on_one_line(name: str, told: str) -> None:
    assert on_one_line(name) == told


def test_what_fills_a_screen_is_cut() -> None:
    fits, beyond = "x" * LONGEST_WORD, "y" * (LONGEST_WORD + 1)
    assert showable(fits) == fits and showable(f"{fits} a") == f"{fits} a"
    assert showable(beyond) == f"{'y' * 100}… ({LONGEST_WORD + 1} characters)"
    assert showable(f"a {beyond} {fits}") == f"a {'y' * 100}… ({LONGEST_WORD + 1} characters) {fits}"


def test_what_moves_the_cursor_is_a_dot() -> None:
    assert showable("a\x1b[2Jb\r\n\tc\x07é") == "a·[2Jb·\n\tc·é"
    assert showable("plain") == "plain"
