"""A run with `--predict`: regions, call sites, bounds and links of what the program did, the same report over more ranks, JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.launch import WITHOUT_TORCH
from tests.runtime.mpi import ROOT
from tt_run.runtime.model.work import Kernel
from tt_run.runtime.prediction.account import WorkAccount

PROGRAM = """
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
x = ttnn.ones((1, 1, 128, 1024), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
w = ttnn.ones((1, 1, 1024, 2048), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
def step():
    y = ttnn.matmul(x, w)
    z = ttnn.all_gather(y, dim=3, cluster_axis=1)
    return ttnn.add(z, z)
step()
trace = ttnn.begin_trace_capture(mesh, cq_id=0)
step()
ttnn.end_trace_capture(mesh, trace, cq_id=0)
for _ in range(3):
    ttnn.execute_trace(mesh, trace, cq_id=0, blocking=True)
ttnn.close_mesh_device(mesh)
"""
FABRIC = "import ttnn\nttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)\n"


def run(tmp_path: Path, program: str, *words: str, code: int = 0) -> str:
    path = tmp_path / "program.py"
    path.write_text(program)
    result = subprocess.run(
        [sys.executable, "-m", "tt_run", "--emulate", *words, "--", sys.executable, str(path)],
        capture_output=True,
        text=True,
        timeout=90,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([WITHOUT_TORCH, str(ROOT)])},
        check=False,
    )
    assert result.returncode == code, result.stderr
    return result.stderr


def predicted(tmp_path: Path, *words: str) -> dict[str, Any]:
    target = tmp_path / "prediction.json"
    timeline = f"--timeline={tmp_path / 'timeline.json'}"
    said = run(tmp_path, FABRIC + PROGRAM, *words, timeline, f"--predict={target}")
    assert "Predicted, not measured: wormhole t3000" in said
    return {
        **json.loads(target.read_text()),
        "timeline": json.loads((tmp_path / "timeline.json").read_text())["traceEvents"],
    }


@pytest.fixture(scope="module")
def lone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return predicted(tmp_path_factory.mktemp("lone"), "--system", "t3000")


def test_regions_hold_what_they_ran(lone: dict[str, Any]) -> None:
    regions = {region["name"]: region for region in lone["regions"]}
    assert set(regions) == {"trace 0", "rest of the program"}
    trace = regions["trace 0"]
    assert trace["passes"] == 3
    assert {name: share["calls"] for name, share in trace["classes"].items()} == {
        "matmuls": 1,
        "collectives": 1,
        "elementwise": 1,
    }
    assert trace["us"] == pytest.approx(sum(trace["bounds"].values()))
    assert trace["us"] < regions["rest of the program"]["us"]  # the host sends what is not traced


def test_call_sites_are_those_of_the_captured_lines(lone: dict[str, Any]) -> None:
    trace = next(region for region in lone["regions"] if region["name"] == "trace 0")
    lines = {Path(site.split("  ")[0]).name: share for site, share in trace["sites"].items()}
    assert set(lines) == {"program.py:9", "program.py:10", "program.py:11"}
    assert lines["program.py:10"]["bound"] in ("link", "latency")


def test_links_carry_what_the_rows_gather(lone: dict[str, Any]) -> None:
    """Four runs, three shards of 128 x 2048 bfloat16 over every link of the rows, each way."""
    carried = {(link["from"], link["to"]): link["bytes"] for link in lone["links"]}
    assert len(carried) == 12
    assert set(carried.values()) == {4 * 3 * 128 * 2048 * 2}
    assert lone["changes"]
    assert all(change["saved_us"] > 0 for change in lone["changes"])


@pytest.mark.wide
def test_more_ranks_predict_the_same(lone: dict[str, Any], tmp_path: Path) -> None:
    split = predicted(tmp_path, "--system", "t3000", "--split", "1x2")
    assert split["ranks"] == 2
    assert split["regions"][0]["us"] == pytest.approx(lone["regions"][0]["us"])
    assert split["critical_path"]["makespan_us"] == pytest.approx(split["total_us"])
    assert split["links"] == lone["links"]


def test_a_hardware_file_of_another_architecture_is_refused(tmp_path: Path) -> None:
    other = ROOT / "configs" / "hardware" / "blackhole.yaml"
    said = run(tmp_path, FABRIC + PROGRAM, "--system", "t3000", "--predict", f"--hardware={other}", code=65)
    assert "describes blackhole; mesh 0 is wormhole" in said


def test_the_timeline_gets_a_predicted_track(lone: dict[str, Any]) -> None:
    trace = lone["timeline"]
    [thread] = [e["tid"] for e in trace if e["name"] == "thread_name" and e["args"]["name"] == "predicted"]
    spans = [e for e in trace if e.get("tid") == thread and e["ph"] == "X"]
    assert {"ttnn.matmul", "ttnn.all_gather", "ttnn.add"} <= {e["name"] for e in spans}
    assert all(b["ts"] == pytest.approx(a["ts"] + a["dur"], abs=0.01) for a, b in pairwise(spans))
    assert {e["args"]["bound by"] for e in spans} <= {"link", "latency", "dram", "compute", "dispatch"}


AWAITED = """
import numpy
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 8))
x = ttnn.from_torch(numpy.ones((1, 1, 64, 64)), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
ttnn.exp(x)
ttnn.synchronize_device(mesh)
for _ in range(3):
    y = ttnn.add(x, x)
    ttnn.matmul(y, y)
    ttnn.synchronize_device(mesh)  # here
ttnn.sqrt(x)
ttnn.close_mesh_device(mesh)
"""


@pytest.mark.parametrize("signposts", [False, pytest.param(True, marks=pytest.mark.wide)])
def test_what_a_line_waits_for_again_is_a_region(tmp_path: Path, signposts: bool) -> None:
    """A single wait makes none, and between signposts they are the region."""
    program = FABRIC + "from tracy import signpost\n" + AWAITED
    if signposts:
        program = program.replace("for _", "signpost('start')\nfor _").replace(
            "ttnn.sqrt", "signpost('stop')\nttnn.sqrt"
        )
    line = 1 + next(n for n, text in enumerate(program.splitlines()) if "# here" in text)
    said = run(tmp_path, program, "--system", "t3000", f"--predict={tmp_path / 'p.json'}")
    regions = {region["name"]: region for region in json.loads((tmp_path / "p.json").read_text())["regions"]}
    repeated = f"until {tmp_path / 'program.py'}:{line}"
    assert [name for name in regions if name.startswith("until ")] == ([] if signposts else [repeated])
    if not signposts:
        assert f"until program.py:{line}: " in said and ", 3 passes" in said
        assert regions[repeated]["passes"] == 3
        calls = {name: share["calls"] for name, share in regions[repeated]["classes"].items()}
        assert calls == {"elementwise": 1, "matmuls": 1}
    rest = regions["rest of the program"]["classes"]
    assert {name: share["calls"] for name, share in rest.items()} == {"elementwise": 2}


def test_a_wait_inside_of_a_training_step_is_part_of_it() -> None:
    account, work = WorkAccount(0, 0), Kernel("elementwise", 1, 1)
    for _ in range(2):
        account.add(None, "t.py:1", "forward", work)
        account.waited("t.py:2")
        account.add(None, "t.py:3", "backward", work)
        account.overlap(None, 0, 5.0)
        account.waited("t.py:4")
        account.close("step SGD")
    account.add(None, "t.py:5", "evaluate", work)
    account.waited("t.py:6")
    part = account.part()
    assert part["regions"] == {"step SGD": 2, "after the last step": 1}
    assert [(region, label, count) for region, _, label, _, _, count in part["entries"]] == [
        ("step SGD", "forward", 2),
        ("step SGD", "backward", 2),
        ("after the last step", "evaluate", 1),
    ]
    assert part["overlapped"] == [["step SGD", 0, 10.0]]
