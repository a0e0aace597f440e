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


SHAPES = {4: (2, 4, 32, 64), 3: (4, 32, 64), 2: (32, 64)}


@pytest.mark.parametrize(
    ("call", "rank", "args", "kwargs", "native"),
    [
        ("permute", 4, ((0, 2, 1, 3),), {}, "TransposeDeviceOperation"),
        ("permute", 4, (), {"dims": (0, 1, 3, 2)}, "TransposeDeviceOperation"),
        ("permute", 4, ((0, 1, -1, -2),), {}, "TransposeDeviceOperation"),
        ("permute", 3, ((0, 2, 1),), {}, "TransposeDeviceOperation"),
        ("permute", 2, ((1, 0),), {}, "TransposeDeviceOperation"),
        ("permute", 4, ((0, 3, 2, 1),), {}, "PermuteDeviceOperation"),
        ("permute", 4, ((1, 0, 2, 3),), {}, "PermuteDeviceOperation"),
        ("permute", 3, ((1, 0, 2),), {}, "TransposeDeviceOperation"),
        ("sum", 4, (-1, True), {}, "ReduceDeviceOperation"),
        ("sum", 4, (), {"dim": -2, "keepdim": True}, "ReduceDeviceOperation"),
        ("sum", 4, (2,), {"keepdim": True}, "ReduceDeviceOperation"),
        ("sum", 3, (1, True), {}, "ReduceDeviceOperation"),
        ("sum", 4, (1, True), {}, ""),
        ("sum", 4, (-1,), {}, ""),
        ("sum", 4, (-1, False), {}, ""),
        ("sum", 4, ([2, 3], True), {}, ""),
        ("split", 4, (32, 3), {}, "SplitDeviceOperation"),
        ("split", 4, (32,), {"dim": -1}, "SplitDeviceOperation"),
        ("split", 4, (16, 3), {}, ""),
        ("split", 4, (16, 2), {}, ""),
        ("split", 4, (1,), {}, ""),
        ("split", 3, (32, 2), {}, ""),
    ],
)  # fmt: skip
def test_arguments_by_place_or_name_choose(
    call: str, rank: int, args: tuple[Any, ...], kwargs: dict[str, Any], native: str, one: MeshDevice
) -> None:
    tensor = empty(SHAPES[rank], DataType.BFLOAT16, Layout.TILE, device=one)
    found = native_name(f"ttnn.{call}", (tensor, *args), kwargs, [tensor])
    assert found == (native or f"ttnn::{call}")


@pytest.mark.parametrize(
    ("call", "count", "native"),
    [
        ("where", 1, "UnaryDeviceOperation"),
        ("where", 2, "BinaryNgDeviceOperation"),
        ("where", 3, "TernaryDeviceOperation"),
        ("maximum", 1, "UnaryDeviceOperation"),
        ("maximum", 2, "BinaryNgDeviceOperation"),
    ],
)
def test_the_number_of_tensors_chooses(call: str, count: int, native: str, one: MeshDevice) -> None:
    given = [empty((32, 32), DataType.BFLOAT16, Layout.TILE, device=one)] * count
    assert native_name(f"ttnn.{call}", tuple(given), {}, given) == native


@pytest.mark.parametrize(
    ("rows", "layout", "native"),
    [
        (32, Layout.TILE, "UntilizeCodegenDeviceOperation"),
        (20, Layout.TILE, "UntilizeWithUnpaddingDeviceOperation"),
        (32, Layout.ROW_MAJOR, "TilizeDeviceOperation"),
        (20, Layout.ROW_MAJOR, "TilizeWithValPaddingDeviceOperation"),
    ],
)
def test_what_turns_rows_into_tiles_and_back(rows: int, layout: Layout, native: str, one: MeshDevice) -> None:
    tensor = empty((rows, 64), DataType.BFLOAT16, layout, device=one)
    assert native_name("ttnn.to_layout", (tensor,), {}, [tensor]) == native


def test_how_long_a_capture_took() -> None:
    def node(kind: str, seconds: float) -> dict[str, Any]:
        return {"node_type": kind, "duration_ns": seconds * 1e9, "params": {"name": "f"}}

    graph: Any = [
        node("capture_start", 1),
        node("function_end", 2),
        node("function_end", 3),
        node("capture_end", 4),
    ]
    assert extract.extract_total_duration_from_graph(graph) == 4
    assert extract.extract_operation_durations(graph) == {"f": 3}
    assert extract.extract_total_duration_from_graph(graph[:2]) == 0
