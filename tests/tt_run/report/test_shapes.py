"""What a damaged file of a run still says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tt_run.report.shapes import conforming
from tt_run.supervise.verdict.injected import injected

RANK = {"rank": 1, "mesh_id": 0, "argv": ["a", "b"]}


@pytest.mark.parametrize(
    ("damaged", "left"),
    [
        ({"ranks": [RANK, 3, None]}, {"ranks": [RANK]}),
        ({"ranks": [{**RANK, "argv": "a"}]}, {"ranks": [{"rank": 1, "mesh_id": 0}]}),
        ({"ranks": {"0": RANK}, "cwd": "/x"}, {"cwd": "/x"}),
        ({"verdict": [], "emulate": 1}, {}),
        ({"started": True, "ended": 2}, {"ended": 2}),
        ({"of another version": [1]}, {"of another version": [1]}),
        ([], None),
    ],
)
def test_what_is_of_another_kind_is_left_out(damaged: Any, left: Any) -> None:
    assert conforming(damaged, "report") == left


LINK = {"mesh": 0, "from": 0, "to": 1, "bytes": 5, "us": 2.0}
SET = {"devices": [0], "memory": "DRAM", "peak": 9, "at_end": 0, "size": 10, "bank_peak": 1, "bank_reach": 1, "bank_size": 2, "largest_free": 1,
       "fits": True, "peak_moment": 1, "sites": [], "late": [], "curve": [[0, 1], [2, 9]]}  # fmt: skip


@pytest.mark.parametrize(
    ("damaged", "schema", "left"),
    [
        ({"links": [LINK, {**LINK, "mesh": None}]}, "predict", {"links": [LINK]}),
        (
            {"links": [LINK, {key: LINK[key] for key in LINK if key != "to"}], "total_us": "x"},
            "predict",
            {"links": [LINK]},
        ),
        (
            [{"rank": 0, "moments": 3, "sets": [{**SET, "curve": [[0, 1], [2], [None, 9], [2, 9]]}]}],
            "memory",
            [{"rank": 0, "moments": 3, "sets": [SET]}],
        ),
        ([{"rank": 0, "moments": 3}], "memory", []),
        ({"ranks": [{**RANK, "devices": [[0, 1], [2], -3]}]}, "report", {"ranks": []}),
    ],
)
def test_entries_of_lists_are_left_out_whole_where_all_of_them_is_wanted(
    damaged: Any, schema: str, left: Any
) -> None:
    assert conforming(damaged, schema, complete=True) == left


def test_pairs_are_pairs() -> None:
    ranks = {"ranks": [{**RANK, "devices": [[0, 1], [2], -3]}]}
    assert conforming(ranks, "report") == {"ranks": [{**RANK, "devices": [[0, 1]]}]}


def test_only_whole_lines_tell_of_faults(tmp_path: Path) -> None:
    fault = {
        "rank": 1,
        "fault": "kill=rank:1,call=2",
        "action": "kill",
        "call": 2,
        "op": "add",
        "site": "a.py:1",
    }
    lines = [json.dumps(each) for each in (fault, {**fault, "rank": "1"}, {**fault, "call": None}, [1], {})]
    (tmp_path / "rank-0001.injected").write_bytes(
        "\n".join([*lines, lines[0][:-20] + "}"]).encode() + b"\xff\0"
    )
    assert injected(tmp_path) == [fault]
