"""What comparison mode found, kept and written down."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.tools.comparison_mode  # noqa: F401 - what follows the switch, as in a program
from tests.runtime.ops.tensors import BFP8, put
from tt_run.runtime import catalog
from tt_run.runtime.graph.database import comparisons
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.tools import comparison, comparison_records

assert comparison  # it follows the setting once it is imported
pytest.importorskip("torch")
pytestmark = pytest.mark.torch

LEVELS = ("local_tensor_comparison_records", "global_tensor_comparison_records")


@pytest.fixture
def device() -> Iterator[MeshDevice]:
    mesh = open_mesh_device(MeshShape(1, 1))
    comparison_records.reset_comparison_records_data()
    CONFIG.enable_comparison_mode = True
    CONFIG.comparison_mode_pcc = 0.99
    CONFIG.comparison_mode_should_raise_exception = True
    try:
        yield mesh
    finally:
        CONFIG.enable_comparison_mode = CONFIG.comparison_mode_should_raise_exception = False
        CONFIG.comparison_mode_pcc = 0.9999
        comparison_records.reset_comparison_records_data()
        mesh.close()


def call(name: str, *arguments: Any) -> Any:
    return catalog.every()[f"ttnn.{name}"](*arguments)


def test_records_of_operations_are_written_down(device: MeshDevice, tmp_path: Path) -> None:
    comparisons.flush_comparison_records_to_db(tmp_path)
    assert not list(tmp_path.iterdir())
    x = put(device, np.linspace(-1, 1, 1024).reshape(32, 32))
    result = call("exp", x)
    assert comparison_records.has_comparison_records()
    comparison_records.record_tensor_comparison_data(
        global_tensor_comparison_records=[
            {"tensor_id": 1, "golden_tensor_id": 2, "matches": False, "desired_pcc": 0.9, "actual_pcc": 0.5}
        ]
    )
    comparisons.flush_comparison_records_to_db(tmp_path)
    assert not comparison_records.has_comparison_records()
    written = json.loads((tmp_path / "comparison_records.json").read_text("utf-8"))
    (record,) = written[LEVELS[0]]
    assert (record["tensor_id"], record["matches"]) == (result.tensor_id, True)
    assert record["actual_pcc"] > 0.99
    with closing(sqlite3.connect(tmp_path / "db.sqlite")) as database:
        local, whole = (database.execute(f"SELECT * FROM {level}").fetchall() for level in LEVELS)
    assert local == [(result.tensor_id, record["golden_tensor_id"], 1, 0.99, record["actual_pcc"], 0)]
    assert whole == [(1, 2, 0, 0.9, 0.5, 0)]


def test_blocks_beyond_a_functions_domain_are_compared_as_they_are_held(device: MeshDevice) -> None:
    x = put(device, np.linspace(-2, 2, 1024).reshape(1, 1, 32, 32), BFP8)
    call("acos", x)
    assert comparison_records.has_comparison_records()
