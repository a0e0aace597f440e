"""The line of a finding and the caret below it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mgd.diagnostics import Diagnostic, Label, Position, render
from mgd.excerpts import WIDTH, Excerpts


def shown(text: str | bytes, line: int, column: int) -> list[str]:
    return list(Excerpts({"f": text}).at(Position("f", line, column)))


@pytest.mark.parametrize(
    ("text", "line", "column", "wanted"),
    [
        ("a: 1\nname: 3\n", 2, 7, ["2 | name: 3", "  |       ^"]),
        ("dims: [ 12, 4 ]", 1, 9, ["1 | dims: [ 12, 4 ]", "  |         ^^"]),
        ('count: "a b" x', 1, 8, ['1 | count: "a b" x', "  |        ^^^^^"]),
        ("{ x }", 1, 1, ["1 | { x }", "  | ^"]),
        ("\tname: 3\r\n", 1, 8, ["1 |  name: 3", "  |        ^"]),
        ("open", 1, 5, ["1 | open", "  |     ^"]),
        ("日本: x", 1, 5, ["1 | 日本: x", "  |       ^"]),
        ("日本: x", 1, 1, ["1 | 日本: x", "  | ^^^^"]),
        ("e\u0301: x", 1, 5, ["1 | e\u0301: x", "  |    ^"]),
        ("a\x1b[31m: 1", 1, 8, ["1 | a·[31m: 1", "  |        ^"]),
        ("\n" * 9 + "x", 10, 1, ["10 | x", "   | ^"]),
    ],
)
def test_the_caret_stands_below_the_place(text: str, line: int, column: int, wanted: list[str]) -> None:
    assert shown(text, line, column) == wanted


@pytest.mark.parametrize(("line", "column"), [(0, 0), (1, 0), (2, 1), (1, 9), (0, 1)])
def test_no_line_is_shown_where_there_is_none(line: int, column: int) -> None:
    assert shown("a: 1", line, column) == []


def test_a_long_line_is_cut_around_the_place() -> None:
    line, carets = shown("x " * 500 + "here" + " y" * 500, 1, 1001)
    assert len(line) < WIDTH + 10 and line.count("…") == 2
    assert line[carets.index("^") : carets.rindex("^") + 1] == "here"


@pytest.mark.parametrize(
    ("columns", "column", "line", "caret"),
    [
        (20, 1, "0000 0001 0002 0003 …", 1),  # no narrower than 20 characters
        (28, 11, "0000 0001 0002 0003 …", 11),
        (28, 12, "…000 0001 0002 0003 0…", 12),
        (29, 11, "0000 0001 0002 0003 0…", 11),
        (29, 151, "…0028 0029 0030 0031 0…", 12),
        (40, 21, "… 0001 0002 0003 0004 0005 0006 0…", 18),
        (40, 296, "…3 0054 0055 0056 0057 0058 0059 ", 29),
        (40, 301, "…3 0054 0055 0056 0057 0058 0059 ", 34),
        (200, 11, " ".join(f"{i:04d}" for i in range(20)) + " …", 11),
        (0, 151, "…" + " ".join(f"{i:04d}" for i in range(20, 40)) + " …", 52),
        (0, 152, "…" + " ".join(f"{i:04d}" for i in range(20, 40))[1:] + " 0…", 52),
    ],
)
def test_so_much_is_shown_around_a_place(columns: int, column: int, line: str, caret: int) -> None:
    """Of a line of sixty numbers; all that is shown fits the columns, from the left margin of `render` on."""
    text = "".join(f"{i:04d} " for i in range(60))
    told, carets = Excerpts({"f": text}, columns).at(Position("f", 1, column))
    assert (told, carets.index("^") - len("  | ") + 1) == (f"1 | {line}", caret)
    assert not columns or len(told) + 2 <= max(columns, 28)


def test_bytes_that_are_no_utf8_shift_nothing() -> None:
    line, carets = shown(b"a\xff: 1 x", 1, 10)
    assert line[carets.index("^")] == "x" or line.endswith("x")


def test_files_are_read_once_and_what_is_no_file_not_at_all(tmp_path: Path) -> None:
    file, pipe = tmp_path / "f", tmp_path / "pipe"
    file.write_text("first\n")
    os.mkfifo(pipe)
    excerpts = Excerpts()
    assert next(excerpts.at(Position(str(file), 1, 1))) == "1 | first"
    file.unlink()
    assert next(excerpts.at(Position(str(file), 1, 1))) == "1 | first"
    for name in (pipe, tmp_path, tmp_path / "absent", "/dev/zero", "a\0b", ""):
        assert not list(Excerpts().at(Position(str(name), 1, 1)))


def test_every_label_of_a_finding_gets_its_line() -> None:
    labels = (
        Label(Position("f", 2, 1), "again"),
        Label(Position("f", 1, 1), "first here"),
        Label(Position("f")),
    )
    finding = Diagnostic("TTR110", "rank 0 is bound twice", labels, "give each its own")
    assert render(finding, excerpt=Excerpts({"f": "one\ntwo"}).at).splitlines() == [
        "error[TTR110]: rank 0 is bound twice",
        "  --> f:2:1   again",
        "  2 | two",
        "    | ^^^",
        "  --> f:1:1   first here",
        "  1 | one",
        "    | ^^^",
        "  --> f",
        "  help: give each its own",
    ]


def test_no_part_of_a_finding_reaches_the_terminal_as_a_command() -> None:
    """Values of an input stand in messages, labels, notes and help, and a file may be called anything."""
    clear = "a\x1b[2J\x07\u202e\udc80b"
    finding = Diagnostic(
        "MGD001", clear, (Label(Position(clear, 1, 2), clear),), help=clear, notes=(f"{clear}\nsecond line",)
    )
    told = render(finding)
    assert all(line.isprintable() for line in told.split("\n")), told
    assert told.count("a·[2J···b") == 4 and "a·[2J··\\udc80b:1:2" in told and "second line" in told
