"""What programs note of calls in a capture by themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tt_run.shims.ttnn as ttnn
from tt_run.runtime.mesh.device import MeshDevice

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

graph = ttnn.graph


def noted(tmp_path: Path) -> list[dict[str, Any]]:
    graph.end_graph_capture_to_file(tmp_path / "report.json")
    found: list[dict[str, Any]] = json.loads((tmp_path / "report.python_io.json").read_text())
    return found


def test_a_capture_notes_calls_while_it_lasts(tmp_path: Path, one: MeshDevice) -> None:
    tensor = ttnn.from_torch(torch.ones(32, 32), layout=ttnn.TILE_LAYOUT, device=one)
    assert not graph.is_python_io_recording_enabled()
    graph.begin_graph_capture()
    assert graph.is_python_io_recording_enabled()
    ttnn.add(tensor, tensor)
    graph.disable_python_io_recording()
    ttnn.multiply(tensor, tensor)
    assert [record["name"] for record in noted(tmp_path)] == ["ttnn.add"]
    assert not graph.is_python_io_recording_enabled()


def test_records_of_a_program(tmp_path: Path) -> None:
    graph.begin_graph_capture()
    record = graph.append_python_io_record("mine")
    assert graph.record_python_operation("mine", (1,), {"a": 2}, record=record) is record
    graph.record_python_operation_error(record, "ValueError", "first")
    graph.record_python_operation_error(record, "ValueError", "second")
    graph.record_python_operation_error(None, "ValueError", "of no call")
    graph.store_output_tensor_ids([3])
    graph.store_captured_graph([{"node": 1}])
    assert noted(tmp_path) == [
        {
            "name": "mine",
            "arguments": {"a": "2", "0": "1"},
            "input_tensor_ids": [],
            "error": {"type": "ValueError", "message": "first"},
            "output_tensor_ids": [3],
            "captured_graph": [{"node": 1}],
        }
    ]
