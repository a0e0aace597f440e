"""Graph capture: nodes and edges in the reference's form, both run modes, what is read from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.enums import BufferType, DataType, Layout
from tt_run.runtime.graph import capturing, extract
from tt_run.runtime.graph.capture import RunMode
from tt_run.runtime.graph.levels import extract_levelized_graph
from tt_run.runtime.memory.views import get_buffer_pages, get_buffers, get_device_info, get_memory_view
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.data_movement.borders import BORDERS
from tt_run.runtime.ops.data_movement.movement import reshape
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.ops.elementwise.binary import add
from tt_run.runtime.ops.products.operations import matmul
from tt_run.runtime.tensor.creation.from_shape import empty
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.storage import Buffer

KEYS = {
    "arguments",
    "connections",
    "counter",
    "input_tensors",
    "node_type",
    "params",
    "stacking_level",
}


@pytest.fixture
def operand(one: MeshDevice) -> Tensor:
    return empty((64, 64), DataType.BFLOAT16, Layout.TILE, device=one)


def test_nodes_have_the_form_of_the_reference(operand: Tensor) -> None:
    capturing.begin_graph_capture()
    product = matmul(operand, operand, memory_config=L1_MEMORY_CONFIG)
    add(product, 1.0).deallocate()
    graph = capturing.end_graph_capture()
    assert [node["counter"] for node in graph] == list(range(len(graph)))
    assert all(set(node) - {"duration_ns"} == KEYS for node in graph)
    assert graph[0]["node_type"], graph[-1]["node_type"] == ("capture_start", "capture_end")
    assert graph[0]["params"] is graph[-1]["params"] is None
    assert extract.extract_calltrace(graph) == [
        "ttnn.matmul",
        "MatmulDeviceOperation",
        "tt::tt_metal::create_device_tensor",
        "ttnn.add",
        "BinaryNgDeviceOperation",
        "tt::tt_metal::create_device_tensor",
        "Tensor::deallocate",
    ]
    kinds = [node["node_type"] for node in graph]
    assert (kinds.count("buffer_allocate"), kinds.count("buffer_deallocate")) == (2, 1)
    assert json.loads(json.dumps(graph)) == graph
    assert not Tensor.observers and Buffer.freed is None


def test_another_shape_of_the_same_bytes_is_no_buffer(operand: Tensor) -> None:
    capturing.begin_graph_capture(RunMode.NO_DISPATCH)
    first = reshape(operand, (2, 32, 64))
    reshape(add(first, 1.0), (64, 64)).deallocate()
    graph = capturing.end_graph_capture()
    calls = extract.extract_calltrace(graph)
    assert calls.count("Tensor::reshape") == 2
    assert calls.count("tt::tt_metal::create_device_tensor") == 1
    assert [node["node_type"] for node in graph].count("buffer") == 2


def test_a_batch_that_is_spread_takes_the_buffers_of_equal_operands(operand: Tensor) -> None:
    """Two tiles for each operand and for the result, beside the tensors: 27 tiles and six for (4, 3, …) and (1, 3, …) in the reference."""
    capturing.begin_graph_capture(RunMode.NO_DISPATCH)
    many, few = (
        empty((n, 3, 32, 32), DataType.BFLOAT16, Layout.TILE, operand.device(), L1_MEMORY_CONFIG)
        for n in (4, 1)
    )
    spread = add(many, few)
    graph = capturing.end_graph_capture()
    assert [node["node_type"] for node in graph].count("circular_buffer_allocate") == 3
    assert extract.extract_peak_L1_memory_usage(graph) == (2 * 12 + 3 + 6) * 2048
    assert spread.is_allocated()


def test_what_crosses_and_what_is_seen_anew_is_told_with_its_arguments(operand: Tensor) -> None:
    """As 0.81.1 tells them: the tensor, where it goes, whether it is waited for; a shape and the same with its padding."""

    def told(graph: list[dict[str, Any]], name: str) -> list[str]:
        return next(
            list(node["arguments"]) for node in graph if node["params"] and node["params"].get("name") == name
        )

    capturing.begin_graph_capture(RunMode.NO_DISPATCH)
    host = BORDERS["from_device"](operand)
    BORDERS["to_device"](host, operand.device())
    reshape(empty((64, 7), DataType.BFLOAT16, Layout.TILE, device=operand.device()), (1, 64, 7))
    graph = capturing.end_graph_capture()
    fetched, sent, seen = (told(graph, f"Tensor::{name}") for name in ("cpu", "to_device", "reshape"))
    assert fetched[0].startswith("Tensor(storage=DeviceStorage(),") and fetched[1:] == ["1"]
    assert sent[0].startswith("Tensor(storage=HostStorage(),") and sent[1].startswith("MeshDevice(")
    assert sent[2:] == ["1"]
    assert seen[1:] == ["Shape([1, 64, 7])", "Shape([1, 64, 32])"]


def test_tensors_and_buffers_are_told_as_the_reference_tells_them(operand: Tensor) -> None:
    """Keys, their order and the types of values, from a capture of reference library 0.81.1."""
    device = operand.device()
    assert device is not None
    device.program_cache.clear()
    capturing.begin_graph_capture(RunMode.NO_DISPATCH)
    held = add(operand, operand)
    graph = capturing.end_graph_capture()
    assert held.is_allocated()
    kinds = [(n["node_type"], n["stacking_level"]) for n in graph[1:-1]]
    outer, inner, made = (("function_start", level) for level in (1, 2, 3))
    assert kinds == [
        *(
            outer,
            inner,
            ("tensor", 2),
            ("buffer", 2),
            ("tensor", 2),
            made,
            ("buffer", 3),
            ("buffer_allocate", 3),
        ),
        *(("function_end", 3), ("tensor", 3), ("circular_buffer_deallocate_all", 2)),
        *[("circular_buffer_allocate", 2)] * 3,
        *(("function_end", 2), ("tensor", 2), ("function_end", 1)),
    ]
    assert (graph[1]["params"], graph[1]["arguments"]) == ({"inputs": "0", "name": "ttnn.add"}, [])
    assert graph[2]["params"] == {
        "inputs": "2",
        "name": "BinaryNgDeviceOperation",
        "program_cache_hit": False,
        "program_factory_index": 0,
        "program_factory_type": "ttnn::operations::binary_ng::BinaryNgDeviceOperation::ProgramFactory",
    }
    assert (graph[2]["input_tensors"], graph[11]["connections"]) == ([3, 5], [2])
    assert graph[12]["params"] == {
        "address": 0,
        "core_range_set": "{[0-0 - 7-7]}",
        "device_id": device.id(),
        "globally_allocated": "0",
        "size": 4096,
    }
    tensor, buffer, room = graph[3]["params"], graph[4]["params"], graph[8]["params"]
    assert graph[4]["connections"] == [3, 5] and 4 in graph[2]["connections"]
    assert {key: type(value).__name__ for key, value in tensor.items()} == {
        **dict.fromkeys(("address", "buffer_type", "device_id"), "int"),
        **dict.fromkeys(
            ("device_tensors", "dtype", "layout", "memory_config", "shape", "storage_type"), "str"
        ),
        **dict.fromkeys(("size", "tensor_id"), "int"),
    }
    assert list(tensor) == sorted(tensor)
    assert (tensor["dtype"], tensor["layout"], tensor["storage_type"]) == (
        "DataType::BFLOAT16",
        "Layout::TILE",
        "DEVICE",
    )
    # What is made while nothing is dispatched is nowhere.
    assert (
        json.loads(tensor["device_tensors"])[0]["address"]
        == tensor["address"]
        > 0
        == graph[10]["params"]["address"]
    )
    place = {"buffer_type": 0, "device_id": device.id()}
    assert buffer == {**place, "layout": "INTERLEAVED", "size": 8192, "type": "DRAM"}
    more = {"address": 0, "max_size_per_bank": 2048, "num_cores": 0, "page_size": 2048}
    assert room == buffer | more and list(room) == sorted(room)
    assert len(graph[6]["arguments"]) == int(graph[6]["params"]["inputs"]) == 5


def test_what_an_operation_gives_goes_into_the_next(operand: Tensor) -> None:
    capturing.begin_graph_capture()
    product = matmul(operand, operand)
    total = add(product, product)
    graph = capturing.end_graph_capture()
    _, made, taken, again = (
        n for n in graph if n["node_type"] == "tensor" and n["params"]["tensor_id"] == product.tensor_id
    )
    assert (made["stacking_level"], made["connections"]) == (2, [])
    starts = {n["params"]["name"]: n for n in graph if n["node_type"] == "function_start"}
    start = starts["BinaryNgDeviceOperation"]
    assert start["input_tensors"] == [taken["counter"], again["counter"]]
    assert taken["connections"] == again["connections"] == [start["counter"]]
    buffer = next(n for n in graph if n["node_type"] == "buffer" and made["counter"] in n["connections"])
    assert {taken["counter"], again["counter"]} < set(buffer["connections"])
    [last] = extract.extract_output_tensors(graph)
    assert graph[last]["params"]["tensor_id"] == total.tensor_id
    [info] = extract.extract_output_info(graph)
    assert (info.shape, info.size, info.type) == ((64, 64), 8192, BufferType.DRAM)
    assert repr(info) == "TensorInfo(shape=Shape([64, 64]), size=8192, type=DRAM)"
    # As the reference, which looks for another name than its captures have.
    assert extract.count_intermediate_and_output_tensors(graph) == (0, 1)
    assert (
        extract.extract_total_duration_from_graph(graph)
        >= extract.extract_operation_durations(graph)["ttnn.add"]
    )


def test_levels_have_the_form_of_the_reference(operand: Tensor) -> None:
    """Compared with what reference library 0.81.1 makes of the same JSON: functions that the program calls tell no tensors."""
    capturing.begin_graph_capture()
    first = matmul(operand, operand)
    held = add(first, first)
    graph = capturing.end_graph_capture()
    assert held.is_allocated()
    product, total = extract_levelized_graph(graph)
    assert (product["name"], product["arguments"], product["out_edges"]) == ("ttnn.matmul", [], [])
    assert (total["in_edges"], total["output_shape"], total["output_info"]) == ([], [], [])
    inner = extract_levelized_graph(graph, max_level=3)
    assert [(each["stacking_level"], each["internals"]) for each in inner] == [
        *[(1, [1]), (2, [2]), (3, []), (1, [4]), (2, [5]), (3, [])],
    ]
    assert [each["output_shape"] for each in inner[1:3]] == [["Shape([64, 64])"]] * 2
    assert extract_levelized_graph(graph, 0) == []


def test_functions_that_failed_calls_left_open() -> None:
    """The next scope of Python closes them, as does a program by itself; each says why it was aborted."""
    capturing.begin_graph_capture()
    capturing.track_function_start("native")
    capturing.track_function_start("inside")
    capturing.unwind_open_functions("why")
    capturing.track_function_start("failed")
    capturing.track_scope_start("next")
    capturing.track_scope_start("within")
    capturing.track_scope_end()
    capturing.track_scope_end()
    graph = capturing.end_graph_capture()
    ends = [node["params"] for node in graph if node["node_type"] == "function_end"]
    left = "Operation did not complete: its graph scope was still open when 'next' started"
    assert ends == [
        {"abort_reason": "why", "aborted": "true", "name": "inside"},
        {"abort_reason": "why", "aborted": "true", "name": "native"},
        {"abort_reason": left, "aborted": "true", "name": "failed"},
        {"name": "within"},
        {"name": "next"},
    ]
    capturing.unwind_open_functions()  # nothing is captured: nothing happens


def test_contexts_are_left_one_by_one() -> None:
    left: list[str] = []
    with capturing.ExitStackWithPop() as stack:
        for name in ("outer", "inner"):
            stack.callback(left.append, name)
        stack.pop()
        assert left == ["inner"]
    assert left == ["inner", "outer"]


def test_what_no_function_gives_and_the_program_takes_is_a_vertex(operand: Tensor) -> None:
    """Views that a method makes have no function of the program around them."""
    capturing.begin_graph_capture()
    capturing.track_function_start("block")
    capturing.track_function_end()
    graph = capturing.end_graph_capture()
    start = next(node for node in graph if node["node_type"] == "function_start")
    end = next(node for node in graph if node["node_type"] == "function_end")
    for number in (7, 8):
        tensor = {"node_type": "tensor", "params": {"tensor_id": number, "shape": "Shape([1])"}}
        graph.append(
            {**tensor, "stacking_level": 1, "counter": len(graph), "connections": [], "arguments": []}
        )
    end["connections"].append(len(graph) - 1)
    start["input_tensors"] = [len(graph) - 2]
    taken, made, block = extract_levelized_graph(graph)
    assert (taken["name"], taken["out_edges"], made["name"], made["in_edges"]) == (
        "tensor[7]",
        [2],
        "tensor[8]",
        [2],
    )
    assert (block["in_edges"], block["out_edges"], block["output_shape"]) == ([0], [], ["Shape([1])"])


def test_no_dispatch_computes_nothing_and_counts_memory(one: MeshDevice) -> None:
    capturing.begin_graph_capture(RunMode.NO_DISPATCH)
    large = empty((65536, 65536), DataType.BFLOAT16, Layout.TILE, device=one)
    result = add(large, large)
    small = add(
        empty((32, 32), DataType.BFLOAT16, Layout.TILE, device=one, memory_config=L1_MEMORY_CONFIG), 1.0
    )
    graph = capturing.end_graph_capture()
    assert result.shape == (65536, 65536)
    assert result.shards.bare and small.shards.bare
    assert not shapes.active()
    sizes = [int(n["params"]["size"]) for n in graph if n["node_type"] == "buffer_allocate"]
    assert sizes == [2 * 65536**2, 2 * 65536**2, 2048, 2048]
    assert {n["params"]["address"] for n in graph if n["node_type"] == "buffer_allocate"} == {0}
    # Kernels of a sum keep two tiles of each operand and of the result, until the next program begins.
    assert extract.extract_peak_L1_memory_usage(graph) == 4096 + 3 * 4096
    usage = extract.extract_resource_usage_per_core(graph)
    assert (usage.peak_cb, usage.peak_l1, usage.peak_total) == (12288, 4096, 4096 + 12288)


def test_an_error_closes_its_functions(operand: Tensor) -> None:
    capturing.begin_graph_capture()
    with pytest.raises(RuntimeError):
        matmul(operand, empty((32, 32), DataType.BFLOAT16, Layout.TILE, device=operand.device()))
    graph = capturing.end_graph_capture()
    ends = [n["params"] for n in graph if n["node_type"] == "function_end" and "atmul" in n["params"]["name"]]
    assert [(end["name"], end.get("aborted")) for end in ends] == [
        ("MatmulDeviceOperation", "true"),
        ("ttnn.matmul", None),
    ]


def test_text_file_and_functions_of_ones_own(operand: Tensor, tmp_path: Path) -> None:
    with capturing.full_graph_capture(str(tmp_path / "g.json")):
        capturing.track_function_start("model.block")
        add(operand, operand)
        capturing.track_function_end()
    assert not capturing.is_graph_capture_active()
    report = json.loads((tmp_path / "g.json").read_text())
    assert report["version"] == 1
    text = extract.pretty_format(report["graph"])
    assert text.startswith("Capture Start")
    assert "\n    Function Start: ttnn.add" in text
    assert text.rstrip().endswith("Capture End")


def test_the_end_without_a_beginning() -> None:
    with pytest.raises(RuntimeError, match="no graph capture is active"):
        capturing.end_graph_capture()


def test_views_of_memory_count_what_lives(one: MeshDevice) -> None:
    before = get_memory_view(one, BufferType.DRAM).total_bytes_allocated_per_bank
    held = empty((64, 96), DataType.BFLOAT16, Layout.TILE, device=one)
    view = get_memory_view(one, BufferType.DRAM)
    assert view.num_banks == 12
    assert view.total_bytes_allocated_per_bank - before == 2048
    assert view.total_bytes_free_per_bank == view.total_bytes_per_bank - view.total_bytes_allocated_per_bank
    buffers = len(get_buffers(one))
    assert not get_buffer_pages(one)  # of DRAM the reference tells none
    beside = empty((40, 5), DataType.BFLOAT16, Layout.ROW_MAJOR, device=one, memory_config=L1_MEMORY_CONFIG)
    assert {(page.page_size, page.page_address - page.address) for page in get_buffer_pages(one)} == {(10, 0)}
    assert len(get_buffer_pages(one)) == 40
    assert get_memory_view(one, BufferType.L1).total_bytes_allocated_per_bank == 32
    assert max(each.max_size_per_bank for each in get_buffers(one) if each.buffer_type is BufferType.L1) == 10
    assert get_memory_view(one, BufferType.L1_SMALL).num_banks == 0
    beside.deallocate()
    assert get_device_info(one).l1_num_banks == 64
    held.deallocate()
    assert len(get_buffers(one)) == buffers - 1


def test_what_kernels_set_aside_in_a_graph_of_the_reference_counts() -> None:
    """Nodes as reference library 0.81.1 captures them: two programs, of which the first has a result in L1 beside its buffers."""

    def node(counter: int, kind: str, **params: object) -> dict[str, Any]:
        return {"node_type": kind, "params": params, "connections": [0], "counter": counter}

    graph = [
        node(0, "buffer", type="L1", size=4352),
        node(1, "buffer_allocate", max_size_per_bank=1088),
        node(2, "circular_buffer_deallocate_all"),
        node(
            3, "circular_buffer_allocate", size=4096, core_range_set="{[0-0 - 0-3]}", globally_allocated="0"
        ),
        node(
            4, "circular_buffer_allocate", size=9999, core_range_set="{[0-0 - 0-3]}", globally_allocated="1"
        ),
        node(5, "dataflow_buffer_allocate", size=2176, core_range_set="{[0-2 - 0-2], [1-0 - 1-0]}"),
        node(5, "dataflow_buffer_allocate", size=7777, core_range_set="{[0-2 - 0-2]}", borrows_memory="1"),
        node(6, "circular_buffer_deallocate_all"),
        node(7, "dataflow_buffer_allocate", size=5000, core_range_set="{[0-0 - 0-0]}"),
        node(8, "scratchpad_allocate", size=512, core_range_set="{[1-1 - 1-1]}"),
    ]
    assert extract.extract_peak_L1_memory_usage(graph) == 4352 + 4096 + 9999 + 2176
    found = extract.extract_resource_usage_per_core(graph)
    assert (found.peak_cb, found.peak_dataflow_buffer, found.peak_scratchpad) == (4096, 5000, 512)
    assert (found.peak_l1, found.peak_total) == (1088, 1088 + 4096 + 2176)


def test_borders_are_functions_of_the_reference(one: MeshDevice) -> None:
    """The call trace of reference library 0.81.1, from the program's values to a device and back."""
    capturing.begin_graph_capture()
    names = ("from_torch", "to_torch", "to_device", "from_device")
    from_torch, to_torch, to_device, from_device = (BORDERS[name] for name in names)
    host = from_torch(np.zeros((32, 32), np.float32))
    there = to_device(host, one)
    to_torch(from_torch(np.zeros((32, 32), np.float32), device=one))
    from_device(there)
    graph = capturing.end_graph_capture()
    made = ["ttnn.from_torch", "ttnn::convert_python_tensor_to_tt_tensor"]
    assert extract.extract_calltrace(graph) == [
        *made,
        *("ttnn.to_device", "Tensor::to_device"),
        *(*made, "Tensor::to_device"),
        *("ttnn.to_torch", "ttnn.from_device", "Tensor::cpu"),
        "tt::tt_metal::detail::convert_tt_tensor_to_framework_tensor",
        "Tensor::deallocate",
        *("ttnn.from_device", "Tensor::cpu"),
    ]
    assert graph[-1]["node_type"] == "capture_end" and FastOperation.crossing is None
    kinds = [node["node_type"] for node in graph]
    assert (kinds.count("buffer_allocate"), kinds.count("buffer_deallocate")) == (2, 1)
