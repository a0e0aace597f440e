"""The colours of a terminal: each can be read on a dark background and on a light one."""

from __future__ import annotations

import re

import pytest

from mgd import diagnostics
from mgd.catalogue import pages
from mgd.drawing.canvas import STYLES
from tt_run.supervise.output.console import rank_tint

_PALE = {"32", "33", "36", "37"}  # green, yellow, cyan, white: bold makes them bright on many terminals
_BRIGHT = {"92", "93", "96", "97"}


def _sequences() -> list[str]:
    styles = [style for style in STYLES.values() if style]
    return [
        *styles,
        *diagnostics._COLOURS.values(),
        pages._CODE,
        *(f"\x1b[{rank_tint(rank)}m" for rank in range(28)),
    ]


@pytest.mark.parametrize("sequence", _sequences())
def test_no_colour_is_lost_on_a_light_background(sequence: str) -> None:
    found = re.fullmatch(r"\x1b\[([0-9;]+)m", sequence)
    assert found, "a plain sequence of the palette of 16 colours"
    codes = set(found[1].split(";"))
    assert not codes & _BRIGHT
    assert not ("1" in codes and codes & _PALE)
    assert "37" not in codes and "38" not in codes


def test_ranks_look_unlike_each_other() -> None:
    assert len({rank_tint(rank) for rank in range(28)}) == 28
    assert rank_tint(0) == rank_tint(28)
