"""Perfetto's own trace processor reads the trace without an error, and answers what users ask it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.perfetto import TraceProcessor

WAITING = """
select process.name as rank, sum(slice.dur) / 1e9 as seconds
from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid)
where slice.category = 'wait' group by rank order by rank"""
FLOWS = """
select a.name as source, b.name as target, f.slice_out != f.slice_in as apart
from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id"""


@pytest.mark.wide
def test_queries_that_users_make(recorded: Path, chromium: Any) -> None:
    page = chromium.new_page()
    try:
        asked = TraceProcessor(page, recorded)
        wrong = list(asked.query("select name, value from stats where severity != 'info' and value > 0"))
        assert not wrong
        times = {
            row.name: row
            for row in asked.query(
                "select name, count(*) as calls, sum(dur) as ns from slice where category = 'op' group by name"
            )
        }
        assert times["ttnn.add"].calls == 2 and times["ttnn.add"].ns > 0
        assert times["ttnn.all_gather"].calls == 6
        waited = {row.rank.split(" (")[0]: row.seconds for row in asked.query(WAITING)}
        assert waited["rank 0"] > 0.05
        # Perfetto lets a flow go out of the slice that began first, so a receive that waits is its source.
        joined = [sorted((row.source, row.target)) for row in asked.query(FLOWS)]
        assert sorted(joined) == [*[["all_gather"] * 2] * 3, ["all_reduce"] * 2, ["recv_bytes", "send_bytes"]]
        shapes = "select extract_arg(arg_set_id, 'args.in') as given from slice where name = 'ttnn.add' and category = 'op'"
        assert {row.given for row in asked.query(shapes)} == {"1x1x32x32 float32, 1x1x32x32 float32"}
        most = "select t.name, max(value) as most from counter c join counter_track t on c.track_id = t.id group by t.name"
        assert {row.name for row in asked.query(most)} == {
            "DRAM bytes in use, fullest device",
            "links bytes in flight",
        }
    finally:
        page.close()
