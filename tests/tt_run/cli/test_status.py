"""What `tt-run status` prints of many ranks, in the width of a terminal."""

from __future__ import annotations

import pytest

from tt_run.cli.commands.status import RankNow, _lines
from tt_run.supervise.looking.long_waits import LongWait
from tt_run.supervise.status import RankStatus


def _ranks(count: int) -> list[RankNow]:
    waits = [LongWait(rank, "all_gather", 5, "layers/attention.py:188", 0.0, (37,)) for rank in range(count)]
    return [
        RankNow(RankStatus(rank, "node1", 100 + rank), "computes at train.py:88" if rank == 37 else str(wait), 75 << 20, None, None if rank == 37 else wait)
        for rank, wait in enumerate(waits)
    ]  # fmt: skip


@pytest.mark.parametrize("width", [80, 60])
def test_lines_of_64_ranks_fit_a_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = _lines(_ranks(64), False)
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("ranks 0-36, 38-63 on node1") and "waits for rank 37 in all_gather" in lines[1]
    assert lines[2].startswith("rank 37 on node1") and lines[3].strip() == "computes at train.py:88"


def test_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    first, second = _lines(_ranks(64), False)
    assert "layers/attention.py:188" in first and second.endswith("computes at train.py:88")


def test_a_line_that_just_fits_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = "rank 0 on node1  75 MiB  computes at train.py:88"
    ranks = [RankNow(RankStatus(0, "node1", 100), "computes at train.py:88", 75 << 20, None, None)]
    for width, lines in ((len(whole), 1), (len(whole) - 1, 2)):
        monkeypatch.setenv("COLUMNS", str(width))
        assert len(_lines(ranks, True)) == lines


def test_memory_that_nobody_knows_takes_no_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks of other hosts, and those that have ended."""
    monkeypatch.delenv("COLUMNS", raising=False)
    unknown = RankNow(RankStatus(1, "node2"), "did not start", 0, None, None)
    known = RankNow(RankStatus(0, "node1"), "running", 75 << 20, None, None)
    assert _lines([unknown], True) == ["rank 1 on node2  did not start"]
    assert _lines([known, unknown], True) == [
        "rank 0 on node1  75 MiB  running",
        "rank 1 on node2          did not start",
    ]
