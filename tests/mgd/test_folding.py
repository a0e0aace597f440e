"""Prose at the width of a terminal."""

from __future__ import annotations

import pytest

from mgd.diagnostics import Diagnostic, Label, Position, render
from mgd.excerpts import Excerpts
from mgd.folding import fold, is_typed

PROSE = "a rank is bound to a mesh that is not there"


@pytest.mark.parametrize(
    ("width", "folded"),
    [
        (0, PROSE),
        (80, PROSE),
        (len(PROSE), PROSE),
        (26, "a rank is bound to a mesh\n  that is not there"),
        (10, PROSE),
    ],
    ids=["no terminal", "wide", "exactly", "narrow", "too narrow for prose"],
)
def test_words_stay_whole(width: int, folded: str) -> None:
    assert fold(PROSE, width, "  ") == folded


def test_what_the_first_line_has_before_counts() -> None:
    assert fold("one two three", 30, "  ", 20) == "one two\n  three"
    assert (
        fold("/a/path/that/is/longer/than/any/line and more", 30)
        == "/a/path/that/is/longer/than/any/line\nand more"
    )


def test_lines_and_quoted_commands_are_kept() -> None:
    text = "first line\nwrite `mgd show t3000 --hosts` to see the hosts of it"
    assert fold(text, 33, " ") == "first line\nwrite `mgd show t3000 --hosts` to\n see the hosts of it"


@pytest.mark.parametrize(
    ("help", "typed"),
    [
        ("bind rank 1 to mesh_id 0", False),
        ("add --emulate to run without hardware", True),
        ("write tt-run examples", True),
        ("`mgd explain` lists them all", True),
        ("correct the well-known host", False),
    ],
)
def test_what_may_be_copied_into_a_shell(help: str, typed: bool) -> None:
    assert is_typed(help) == typed


def test_a_finding_on_a_narrow_terminal() -> None:
    label = Label(
        Position("some/where/bindings.yaml", 3, 38), "rank 0 is bound to mesh_id 7, of which there is none"
    )
    finding = Diagnostic(
        "TTR204",
        PROSE + ", or not yet",
        (label,),
        "bind rank 0 to the only mesh that there is",
        notes=(PROSE,),
    )
    line = "ranks: [{rank: 0, mesh_host_rank: 0, mesh_id: 7, more: and more}]"
    text = render(
        finding,
        more="tt-run --explain",
        excerpt=Excerpts({"some/where/bindings.yaml": f"\n\n{line}"}, 50).at,
        width=50,
    )
    assert text.splitlines() == [
        "error[TTR204]: a rank is bound to a mesh that is",
        "    not there, or not yet",
        "  --> some/where/bindings.yaml:3:38",
        "      rank 0 is bound to mesh_id 7, of which there",
        "      is none",
        "  3 | …, mesh_host_rank: 0, mesh_id: 7, more: and…",
        "    |                       ^^^^^^^",
        "  note: a rank is bound to a mesh that is not",
        "        there",
        "  help: bind rank 0 to the only mesh that there is",
        "  more: tt-run --explain TTR204",
    ]


def test_what_can_be_typed_is_not_broken() -> None:
    help = "write tt-run --emulate --system t3000 --split 1x2 python train.py"
    assert render(Diagnostic("TTR002", "x", help=help), width=40).splitlines()[1] == f"  help: {help}"
