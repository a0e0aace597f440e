"""Texts of arguments as JSON; the answers are those of reference library 0.81.1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.graph import capturing
from tt_run.runtime.graph.capture import RunMode
from tt_run.runtime.graph.tracer_json import GraphTracerUtils
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.data_movement.movement import reshape
from tt_run.runtime.ops.elementwise import binary
from tt_run.runtime.tensor.creation.from_shape import empty
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG

MEMORY = {
    "memory_layout": "TensorMemoryLayout::INTERLEAVED",
    "buffer_type": "BufferType::L1",
    "shard_spec": "std::nullopt",
    "nd_shard_spec": "std::nullopt",
    "created_with_nd_shard_spec": 0,
    "per_core_allocation": 0,
    "range_lockstep_allocation": 0,
}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Shape([1, 4, 2048, 128])", {"Shape": [1, 4, 2048, 128]}),
        ("DataType::BFLOAT16", "DataType::BFLOAT16"),
        ("SmallVector([0, 2, 1, 3])", {"SmallVector": [0, 2, 1, 3]}),
        ("nullopt", "nullopt"),
        ("<optional>", "<optional>"),
        ("1", "1"),
        (
            "[ unsupported type , std::reference_wrapper<X>]",
            {"unsupported type": "std::reference_wrapper<X>"},
        ),
        (repr(L1_MEMORY_CONFIG), {"MemoryConfig": MEMORY}),
        ("Tile(tile_shape={32, 32},num_faces=4)", {"Tile": {"tile_shape": "{32, 32}", "num_faces": 4}}),
    ],
)
def test_an_argument(text: str, told: Any) -> None:
    found = GraphTracerUtils.serialize_arguments_to_json("ttnn::x", ["0", text])
    assert found == {"operation": "ttnn::x", "arguments": [{"arg0": "0"}, {"arg1": told}]}


@pytest.mark.parametrize("text", ["Shape([1, 2)", "operation_attributes_t(SmallVector([0]), 0)", "A(b=)"])
def test_what_cannot_be_taken_apart_is_told_whole(text: str) -> None:
    (unparsed,) = GraphTracerUtils.serialize_arguments_to_json("f", [text])["arguments"]
    assert unparsed["UnparsedElement"]["element_info"] == text


def test_a_captured_graph(one: MeshDevice) -> None:
    operand = empty((64, 64), DataType.BFLOAT16, Layout.TILE, device=one)
    capturing.begin_graph_capture(RunMode.NO_DISPATCH)
    binary.add(operand, operand)
    reshape(operand, (1, 64, 64))
    content = GraphTracerUtils.serialize_graph(capturing.end_graph_capture())["content"]
    assert [part["operation"] for part in content] == [
        *("BinaryNgDeviceOperation", "tt::tt_metal::create_device_tensor", "Tensor::reshape"),
    ]
    tensor = content[2]["arguments"][0]["arg0"]["Tensor"]
    assert (tensor["storage"], tensor["tensor_spec"]["logical_shape"]) == ({}, [64, 64])
    layout = tensor["tensor_spec"]["tensor_layout"]
    assert layout["page_config"]["config"]["tile"]["face_shape"] == "{16, 16}"
    assert layout["alignment"] == [32, 32]
    assert content[1]["arguments"][0] == {"arg0": {"Shape": [64, 64]}}
    json.dumps([part for part in content if part["operation"] != "BinaryNgDeviceOperation"])
