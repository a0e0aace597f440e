"""The ledger of a run: per device, link and collective, the same however the devices are split over ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tt_run.runtime.ccl.collectives  # noqa: F401 - their records
from tests.runtime.mpi import ROOT, run_ranks
from tests.sweep import sweep
from tt_run.runtime.events import Event
from tt_run.runtime.listeners.ledger import Ledger, join, table
from tt_run.runtime.traffic import Fabric

DESCRIPTORS = {1: "t3k_mesh_graph_descriptor", 2: "t3k_2x4_two_hosts", 4: "t3k_2x4_four_hosts"}
PROGRAM = """
import numpy as np, ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
x = ttnn.from_torch(np.ones((8, 1, 32, 32), np.float32), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=mesh,
                    mesh_mapper=ttnn.ShardTensorToMesh(mesh, dim=0))
ttnn.all_reduce(x)
for _ in range(3):
    ttnn.all_gather(x, dim=3, cluster_axis=1)
ttnn.add(x, x)
ttnn.close_mesh_device(mesh)
"""
S = 32 * 32 * 4


def record(ranks: int, folder: Path) -> dict[str, Any]:
    path = folder / "out" / "ledger.json"
    env = {
        "TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs" / "mgd" / f"{DESCRIPTORS[ranks]}.textproto"),
        "TT_RUN_LEDGER": str(path),
    }
    run_ranks(ranks, PROGRAM, env=env).check()
    assert [p.name for p in sorted(path.parent.iterdir())] == ["ledger.json", "ledger.json.txt"]
    found = json.loads(path.read_text())
    assert "all_reduce" in (path.parent / "ledger.json.txt").read_text()
    return found


@pytest.mark.parametrize("ranks", sweep([1, 2, 4], quick=[2]))
def test_a_ring_all_reduce_and_gathers_along_rows(ranks: int, tmp_path: Path) -> None:
    found = record(ranks, tmp_path)
    assert found["ranks"] == list(range(ranks))
    gather, reduce = found["collectives"]
    assert (reduce["name"], reduce["axis"], reduce["devices"], reduce["calls"]) == ("all_reduce", "all", 8, 1)
    assert reduce["bytes"] == 8 * (2 * 7 / 8 * S)
    assert (gather["name"], gather["axis"], gather["devices"], gather["calls"]) == ("all_gather", "1", 4, 3)
    assert gather["bytes"] == 3 * 8 * 3 * S
    assert [device["device"] for device in found["devices"]] == list(range(8))
    assert {device["bytes"] for device in found["devices"]} == {2 * 7 / 8 * S + 3 * 3 * S}
    assert sum(link["bytes"] for link in found["links"]) == found["totals"]["link_bytes"]
    assert found["totals"]["link_bytes"] == sum(entry["link_bytes"] for entry in found["collectives"])
    assert sum(link["messages"] for link in found["links"]) == found["totals"]["hops"]
    assert {entry["axis"]: entry["bytes"] for entry in found["axes"]} == {
        "all": reduce["bytes"],
        "1": gather["bytes"],
    }
    assert next(iter(gather["sites"])).endswith("program.py:8")


def test_only_own_devices_count() -> None:
    event = Event(
        "collective", "all_gather", 0.0, 1.0, "p.py:1", groups=((0, 1),), devices=(0,), axis=1, bytes=100
    )
    ledger = Ledger(Fabric((1, 2)))
    ledger.note(event)
    ledger.note(Event("op", "add", 0.0, 1.0, bytes=10**6))
    part = ledger.part()
    assert [(d["device"], d["bytes"]) for d in part["devices"]] == [(0, 100)]
    assert [(link["from"], link["to"]) for link in part["links"]] == [(0, 1)]


def test_streams_between_meshes_are_listed_apart() -> None:
    ledger = Ledger(Fabric((2, 2)))
    ledger.note(Event("send", "send_async", 0.0, 1.0, bytes=64, messages=4))
    whole = join([{**ledger.part(), "rank": 1}])
    assert whole["streams"] == [
        {"name": "send_async", "bytes": 256, "messages": 4, "hops": 0, "link_bytes": 0}
    ]
    assert "send_async" in table(whole)
    assert whole["totals"]["bytes"] == 0


def test_a_run_that_fails_still_accounts_for_what_it_did(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    program = PROGRAM.replace("ttnn.add(x, x)", "raise ValueError('stop')")
    env = {
        "TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs/mgd/t3k_2x4_two_hosts.textproto"),
        "TT_RUN_LEDGER": str(path),
    }
    assert run_ranks(2, program, env=env).returncode == 1
    assert json.loads(path.read_text())["totals"]["messages"] > 0


@pytest.mark.wide
def test_a_folder_that_cannot_be_written_is_said_and_stops_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    result = run_ranks(1, PROGRAM, env={"TT_RUN_LEDGER": str(blocked / "ledger.json")})
    assert result.returncode == 0
    assert "cannot write" in result.stderr
