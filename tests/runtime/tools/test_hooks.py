"""What programs have called around operations, files of calls, and operations of their own."""

from __future__ import annotations

import csv
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tt_run.runtime import catalog
from tt_run.runtime.enums import Layout
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.ops.declaration import dispatch
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tools import call_files, hooks, registration, tensor_ids

pytestmark = pytest.mark.listening


@pytest.fixture
def mesh() -> Iterator[MeshDevice]:
    mesh = open_mesh_device(MeshShape(1, 1))
    yield mesh
    mesh.close()


def tensor(mesh: MeshDevice) -> Tensor:
    made = from_torch(np.ones((2, 3), np.float32), layout=Layout.TILE, device=mesh)
    assert made is not None
    return made


def test_hooks_around_operations(mesh: MeshDevice) -> None:
    x, seen = tensor(mesh), []
    exp = catalog.find("ttnn.exp")
    assert exp is not None
    with (
        hooks.register_pre_operation_hook(
            lambda op, args, kwargs: seen.append(("before", op.name, args[0] is x))
        ),
        hooks.register_post_operation_hook(
            lambda op, args, kwargs, out: seen.append((op.name, out.shape == [2, 3]))
        ),
    ):
        exp(x) * 2
    exp(x)
    assert seen == [
        ("before", "ttnn.exp", True),
        ("ttnn.exp", True),
        ("before", "ttnn.multiply", False),
        ("ttnn.multiply", True),
    ]


def test_a_file_for_each_call(mesh: MeshDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add = catalog.find("ttnn.add")
    assert add is not None
    monkeypatch.setattr(CONFIG, "root_report_path", tmp_path)
    monkeypatch.setattr(call_files, "_OPERATION_COUNTER", 0)
    monkeypatch.setattr(call_files, "_ENABLE_TRACE", True)
    call_files.set_sweep_source_hash("a1b2")
    add(tensor(mesh), 2)
    call_files.set_sweep_source_hash()
    monkeypatch.setattr(call_files, "_ENABLE_TRACE", False)
    add(tensor(mesh), 2)
    record = the_file(tmp_path / "operation_parameters", "1_ttnn_add_*.json")
    assert (record["operation_id"], record["operation_name"], record["args"][1]["value"]) == (
        1,
        "ttnn.add",
        2,
    )
    first = record["args"][0]["value"]
    assert (first["shape"], first["dtype"], first["layout"]) == ([2, 3], "DataType.FLOAT32", "Layout.TILE")
    assert first["mesh_device"] == {
        "placements": ["PlacementReplicate"],
        "distribution_shape": [1],
        "shape": [1, 1],
        "device_ids": list(mesh.get_device_ids()),
    }
    assert first["memory_config"]["buffer_type"] == "BufferType.DRAM"
    assert record["sweep_source_hash"] == "a1b2"
    assert "values" not in record["return_value"]  # until they are asked for


def the_file(folder: Path, pattern: str) -> dict[str, Any]:
    (file,) = folder.glob(pattern)
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return record


def test_a_file_for_each_call_of_a_wrapped_function(
    mesh: MeshDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTNN_OPERATION_TRACE_DIR", str(tmp_path / "told"))
    monkeypatch.setattr(call_files, "_OPERATION_COUNTER", 4)
    monkeypatch.setattr(call_files, "_SERIALIZE_TENSOR_VALUES", True)
    wrapped = call_files.wrap_function_for_tracing(lambda x, *, k: [x, k], "model::block.run")
    assert wrapped(1, k=2) == [1, 2]
    assert not (tmp_path / "told").exists()
    monkeypatch.setattr(call_files, "_ENABLE_TRACE", True)
    wrapped(tensor(mesh), k=(mesh, {"grid": Layout.TILE, "none": None}))
    monkeypatch.setattr(call_files, "_ENABLE_TRACE", False)
    record = the_file(tmp_path / "told", "*_model_block_run_*.json")
    assert record["args"][0]["value"]["values"] == [[1.0] * 3] * 2
    device, settings = record["kwargs"]["k"]
    assert (device["type"], device["shape"]) == ("MeshDevice", [1, 1])
    assert settings == {"grid": {"type": "Layout", "repr": "Layout.TILE"}, "none": None}


def test_the_writing_of_a_file_writes_none_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_files, "_IS_SERIALIZING", True)
    call_files.serialize_operation_parameters("ttnn.add", (), {}, tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_operation_of_the_program(
    mesh: MeshDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the registration adds is gone with the test.
    for name in ("ttnn", "ttnn.own_test"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    catalog.every()
    monkeypatch.setattr(dispatch, "registry", dict(dispatch.registry))
    monkeypatch.setattr(catalog, "registry", dispatch.registry)

    @registration.register_python_operation(name="ttnn.own_test.twice", golden_function=lambda x: x + x)
    def twice(x: Tensor) -> Tensor:
        """Twice."""
        return x + x

    assert twice.python_fully_qualified_name == "ttnn.own_test.twice"
    assert np.array_equal(twice(tensor(mesh)).to_numpy(), np.full((2, 3), 2))
    registration.dump_operations(tmp_path / "operations.csv")
    lines = (tmp_path / "operations.csv").read_text(encoding="utf-8").splitlines()
    rows = {row["python_fully_qualified_name"]: row for row in csv.DictReader(lines)}
    assert rows["ttnn.own_test.twice"]["has_golden_function"] == "True"
    assert not any(name.startswith("ttnn.experimental.") for name in rows)
    with pytest.raises(RuntimeError, match="must start with"):
        registration.register_python_operation(name="twice")


def test_lists_of_hooks_and_the_operations_under_way(mesh: MeshDevice, without_looking: None) -> None:
    lists = importlib.import_module("tt_run.runtime.tools.hook_lists")
    x, seen = tensor(mesh), []
    exp = catalog.find("ttnn.exp")
    assert exp is not None

    def before(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen.append((operation.name, list(lists.OPERATION_CALL_STACK)))

    lists.PRE_OPERATION_HOOKS.append(before)
    try:
        exp(x)
        with hooks.register_post_operation_hook(lambda *call: seen.append(len(lists.POST_OPERATION_HOOKS))):
            exp(x)
        with pytest.raises(RuntimeError), hooks.register_post_operation_hook(lambda *call: seen.append("no")):
            catalog.every()["ttnn.matmul"](x, x)
    finally:
        lists.PRE_OPERATION_HOOKS.remove(before)
    exp(x)
    once = ("ttnn.exp", ["ttnn.exp"])
    assert seen == [once, once, 1, ("ttnn.matmul", ["ttnn.matmul"])]
    assert not lists.OPERATION_CALL_STACK
    assert not lists.POST_OPERATION_HOOKS


def test_the_registered_operations(mesh: MeshDevice) -> None:
    listed = registration.RegisteredOperations()
    exp = catalog.every()["ttnn.exp"]
    assert exp in listed
    assert len(list(listed)) == len(registration.query_registered_operations(include_experimental=True))
    with pytest.raises(RuntimeError, match=r'Operation with name "ttnn\.exp" is already registered'):
        listed.add(exp, "ttnn.exp")
    mine = dispatch.FastOperation("ttnn.mine", lambda x: x)
    assert mine not in listed
    listed.add(mine, "ttnn.mine")
    assert mine in listed


def test_numbers_and_records_of_results(mesh: MeshDevice) -> None:
    x = tensor(mesh)
    first = x.tensor_id
    assert tensor_ids.set_output_tensor_id_decorator(lambda: [x, 3])() == [x, 3]
    assert x.tensor_id > first
    record = tensor_ids.get_tensor_report_record(x)
    assert (record["tensor_id"], record["storage_type"], record["device_id"]) == (
        x.tensor_id,
        "DEVICE",
        mesh.id(),
    )
    assert record["address"] == x.buffer_address()
    x.deallocate()
    after = tensor_ids.get_tensor_report_record(x)
    assert (after["address"], after["memory_config"]) == (None, record["memory_config"])
    with pytest.raises(RuntimeError, match="Unsupported tensor report record type"):
        tensor_ids.get_tensor_report_record(3)


def test_golden_tensors_of_what_is_written_over(mesh: MeshDevice) -> None:
    torch = pytest.importorskip("torch")
    x = tensor(mesh)
    tensor_ids.refresh_or_invalidate_global_goldens([x], torch.ones(2, 3))
    assert torch.equal(tensor_ids.goldens[x.tensor_id], torch.ones(2, 3))
    tensor_ids.refresh_or_invalidate_global_goldens([x], None)
    assert x.tensor_id not in tensor_ids.goldens


def test_hooks_see_tensors_come_and_go(mesh: MeshDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Conversions, new tensors and files are operations of the reference, though no event of the timeline tells of them."""
    seen: list[str] = []
    monkeypatch.setattr(CONFIG, "root_report_path", str(tmp_path))

    def operation(name: str) -> Any:
        found = catalog.find(f"ttnn.{name}")
        assert found is not None
        return found

    def calls() -> None:
        made = operation("from_torch")(np.ones((2, 3), np.float32), layout=Layout.TILE)
        placed = operation("to_device")(made, mesh)
        operation("zeros_like")(placed)
        operation("deallocate")(placed)

    names = ["ttnn.from_torch", "ttnn.to_device", "ttnn.zeros_like", "ttnn.deallocate"]
    with hooks.register_pre_operation_hook(lambda operation, args, kwargs: seen.append(operation.name)):
        calls()
    assert seen == names
    call_files.enable_tracing()
    try:
        calls()
    finally:
        call_files.enable_tracing(False)
    written = [json.loads(path.read_text()) for path in (tmp_path / "operation_parameters").iterdir()]
    assert [
        each["operation_name"] for each in sorted(written, key=lambda each: each["operation_id"])
    ] == names
    with pytest.raises(TypeError), hooks.register_pre_operation_hook(lambda *_: None):
        operation("to_device")(3, mesh)
    calls()
    assert seen == names and dispatch.FastOperation.watching is None
