"""What a damaged file of a run still says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tt_run.report.shapes import sound
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
    assert sound(damaged, "report") == left


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
