"""Reports of captured graphs of several ranks, as scripts and suites make them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.launch import environment, tt_run

PROGRAM = """
import sys
import ttnn

mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
rank, size = int(ttnn.distributed_context_get_rank()), int(ttnn.distributed_context_get_size())
with ttnn.graph.full_graph_capture(f"{sys.argv[1]}/graph_capture_{rank + 1}_of_{size}.json"):
    held = ttnn.ones((1, 1, 32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
    ttnn.all_gather(held, dim=3)
ttnn.distributed_context_barrier()
if rank == 0:
    from ttnn.graph_report import import_report

    print(import_report(sys.argv[1], sys.argv[1]))
ttnn.close_mesh_device(mesh)
"""

SUITE = """
import pytest
import ttnn
from ttnn.graph_report import run_pytest_graph_report_fixture


@pytest.fixture
def device():
    found = ttnn.open_device(device_id=0)
    yield found
    ttnn.close_device(found)


@pytest.fixture(autouse=True)
def reported(request):
    yield from run_pytest_graph_report_fixture(request)


@pytest.mark.parametrize("rows", [32, 64])
def test_relu(device, rows):
    ttnn.relu(ttnn.ones((rows, 32), layout=ttnn.TILE_LAYOUT, device=device))
"""


def rows(database: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.wide
def test_two_ranks_become_one_database(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = tt_run(
        "--emulate", "--system", "n300", "--split", "1x2", sys.executable, program, tmp_path, cwd=tmp_path
    ).check()
    assert str(tmp_path / "db.sqlite") in done.out
    found = rows(tmp_path / "db.sqlite", "SELECT rank, name FROM operations ORDER BY rank, operation_id")
    assert found == [(rank, name) for rank in (0, 1) for name in ("ttnn.ones", "ttnn.all_gather")]
    stacks = rows(tmp_path / "db.sqlite", "SELECT DISTINCT rank FROM stack_traces ORDER BY rank")
    assert stacks == [(0,), (1,)]


def test_a_suite_reports_each_test(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    asked = (
        '{"enable_graph_report": true, "enable_detailed_buffer_report": true, "root_report_path": "reports"}'
    )
    done = subprocess.run(
        [
            "timeout",
            "-k",
            "5",
            "60",
            sys.executable,
            "-m",
            "tt_run.emulate",
            "-m",
            "pytest",
            "-q",
            "test_suite.py",
        ],
        env=environment({"TTNN_CONFIG_OVERRIDES": asked}),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    folders = sorted((tmp_path / "reports").iterdir())
    assert [folder.name.split("_")[:4] for folder in folders] == [
        ["test", "suite", "test", "relu[32]"],
        ["test", "suite", "test", "relu[64]"],
    ]
    for folder in folders:
        assert {path.name for path in folder.iterdir()} == {
            "cluster_descriptor.yaml",
            "config.json",
            "db.sqlite",
        }
        assert rows(folder / "db.sqlite", "SELECT name FROM operations") == [("ttnn.ones",), ("ttnn.relu",)]
