"""The native operations that calls run, as captures of the reference name them."""

from __future__ import annotations

from typing import Any

import pytest

from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.graph import capturing, extract
from tt_run.runtime.graph.device_operations import _CHOSEN, _OF, native_name
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.creation.from_shape import empty


def test_every_name_is_an_operation() -> None:
    known = {*catalog.every(), "ttnn.Tensor.__getitem__", "ttnn.Tensor.reshape"}
    assert {*_OF, *_CHOSEN} <= known, {*_OF, *_CHOSEN} - known


@pytest.mark.parametrize(
    ("call", "rows", "native"),
    [
        ("all_gather", 32, "AllGatherDeviceOperation"),
        ("all_gather", 20, "ttnn::all_gather"),  # not of whole tiles: several
        ("reduce_scatter", 32, "ReduceScatterDeviceOperation"),
        ("experimental.all_gather_async", 32, "AllGatherAsyncDeviceOperation"),
        ("rms_norm_pre_all_gather", 32, "LayerNormPreAllGatherDeviceOperation"),
        ("sampling", 32, "SamplingDeviceOperation"),
        ("exp", 32, "UnaryDeviceOperation"),
        ("fold", 32, "ttnn::fold"),
    ],
)
def test_arguments_choose(call: str, rows: int, native: str, one: MeshDevice) -> None:
    tensor = empty((1, 1, rows, 64), DataType.BFLOAT16, Layout.TILE, device=one)
    assert native_name(f"ttnn.{call}", (tensor,), {}, [tensor]) == native


def test_a_capture_names_collectives(mesh: MeshDevice) -> None:
    operations: dict[str, Any] = catalog.every()
    tensor = empty((1, 1, 32, 64), DataType.BFLOAT16, Layout.TILE, device=mesh)
    capturing.begin_graph_capture()
    operations["ttnn.all_gather"](tensor, dim=3)
    names = extract.extract_calltrace(capturing.end_graph_capture())
    assert names[:2] == ["ttnn.all_gather", "AllGatherDeviceOperation"]
