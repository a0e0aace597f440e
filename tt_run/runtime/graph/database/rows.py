"""A captured graph as rows of a report's database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tt_run.runtime.graph.database.functions import Graph, params
from tt_run.runtime.graph.database.lifetimes import lifetimes
from tt_run.runtime.graph.database.operations import Operation, operations
from tt_run.runtime.graph.database.schema import TABLES, insert
from tt_run.runtime.graph.database.sources import sources
from tt_run.runtime.graph.nodes import Node

Rows = list[tuple[Any, ...]]
Record = dict[str, Any]
_EXECUTIONS = 1024
"""Numbers for programs that one operation may run: they are unique in a database."""


def import_devices(cursor: sqlite3.Cursor, devices: Sequence[Mapping[str, Any]], rank: int = 0) -> set[int]:
    """Write what the devices have; their numbers."""
    columns = [column.split()[0] for column in TABLES["devices"][0][:-1]]
    insert(cursor, "devices", [(*(device.get(key, 0) for key in columns), rank) for device in devices])
    return {int(device.get("device_id", 0)) for device in devices}


def import_metadata(cursor: sqlite3.Cursor, metadata: Mapping[str, Any]) -> None:
    """Write what a report says of itself, as text."""
    insert(cursor, "report_metadata", [(key, str(value)) for key, value in metadata.items()])


def import_graph(
    cursor: sqlite3.Cursor,
    graph: Graph,
    base_operation_id: int = 0,
    devices: Sequence[Mapping[str, Any]] | None = None,
    python_io: Sequence[Record] | None = None,
    per_operation_buffers: Mapping[str, Sequence[Record]] | None = None,
    rank: int = 0,
    record_tensor_lifetime: bool = False,
) -> dict[str, Any]:
    """Write the operations of a graph, numbered after `base_operation_id`, with their tensors and buffers; how many rows of each kind.

    `python_io` is what the program's calls said, by name and order of the functions. `devices` are not needed: each buffer says how much
    it takes of a bank.
    """
    listed = list(operations(graph, python_io or (), per_operation_buffers, first=base_operation_id + 1))
    tensors = _tensors(graph, listed, rank)
    known = {row[0] for row in tensors}
    into = [(each.id, place, n, rank) for each in listed for place, n in _placed(each.inputs, known)]
    out = [(each.id, place, n, rank) for each in listed for place, n in _placed(each.outputs, known)]
    subgraphs = [(each.id, _subgraph(each.nodes)) for each in listed]
    files, stacks = sources((each.id, each.stack) for each in listed if each.stack)
    cursor.executemany("INSERT OR IGNORE INTO source_files (path, contents) VALUES (?, ?)", files)
    numbers = dict(cursor.execute("SELECT path, id FROM source_files").fetchall())
    kept = lifetimes(listed, sorted(known)) if record_tensor_lifetime else []
    rows: dict[str, Rows] = {
        "operations": [(each.id, each.name, each.seconds, rank) for each in listed],
        "operation_arguments": [(each.id, *named, rank) for each in listed for named in each.arguments],
        "nodes": [
            (
                each.id,
                each.end if each.start is None else each.start,
                each.id - base_operation_id,
                each.name,
                rank,
            )
            for each in listed
        ],
        "captured_graph": [(number, json.dumps(nodes), rank) for number, nodes in subgraphs],
        "edges": [row for number, nodes in subgraphs for row in _edges(number, nodes, rank)],
        "stack_traces": [(number, stack, numbers.get(path), rank) for number, stack, path in stacks],
        "tensors": tensors,
        "device_tensors": _device_tensors(graph, known, rank),
        "input_tensors": into,
        "output_tensors": out,
        "tensor_consumers": [(tensor, number, place, rank) for number, place, tensor, _ in into],
        "tensor_producers": [(tensor, number, place, rank) for number, place, tensor, _ in out],
        "tensor_lifetime": [(*each.values(), rank) for each in kept],
        "buffers": [
            (each.id, b.device, b.address, b.size, b.kind, b.layout, rank)
            for each in listed
            for b in each.buffers
        ],
        "errors": [
            (each.id, each.name, *each.error, each.stack, "", rank)
            for each in listed
            if each.error is not None
        ],
        **_programs(listed, rank),
    }
    counts: dict[str, Any] = {table: insert(cursor, table, found) for table, found in rows.items()}
    return {
        **counts,
        "tensor_lifetime": [{**each, "rank": rank} for each in kept],
        "graph_counter_to_op_id": {each.start: each.id for each in listed if each.start is not None},
        "graph_counter_to_end": {each.start: each.end for each in listed if each.start is not None},
    }


def _placed(numbers: Iterable[int], known: set[int]) -> Iterable[tuple[int, int]]:
    return enumerate(number for number in numbers if number in known)


def _tensors(graph: Graph, listed: Sequence[Operation], rank: int) -> Rows:
    """Each tensor as it was first seen: all on devices, and those of the host that operations take or give."""
    used = {number for each in listed for number in (*each.inputs, *each.outputs)}
    found: dict[int, tuple[Any, ...]] = {}
    for node in graph:
        said = params(node)
        if (
            node.get("node_type") != "tensor"
            or said.get("tensor_id") is None
            or int(said["tensor_id"]) in found
        ):
            continue
        row = tensor_row(said, rank)
        if row[-1] == "DEVICE" or row[5] is not None or row[0] in used:
            found[row[0]] = row
    return list(found.values())


def tensor_row(said: Mapping[str, Any], rank: int) -> tuple[Any, ...]:
    """A tensor as a capture tells it; one without a buffer has no memory, rather than DRAM, whose number is 0."""
    storage = said.get("storage_type")
    if storage is None and (said.get("memory_config") or said.get("address")) is not None:
        storage = "DEVICE"  # of captures from before they told it
    dtype, layout = (
        str(said[key]).replace("::", ".") if said.get(key) else None for key in ("dtype", "layout")
    )
    device, address, kind = (
        int(said[key]) if said.get(key) is not None else None
        for key in ("device_id", "address", "buffer_type")
    )
    shape, memory = said.get("shape", ""), said.get("memory_config")
    return int(said["tensor_id"]), shape, dtype, layout, memory, device, address, kind, rank, storage


def _device_tensors(graph: Graph, known: set[int], rank: int) -> Rows:
    found: dict[tuple[Any, ...], None] = {}
    seen: set[int] = set()
    for node in graph:
        said = params(node)
        if node.get("node_type") != "tensor" or not said.get("device_tensors"):
            continue
        number = int(said["tensor_id"])
        if number in seen or number not in known:
            continue
        seen.add(number)
        for each in json.loads(said["device_tensors"]):
            device = each.get("mesh_device_id", each.get("device_id"))
            found[number, device, each.get("address"), rank] = None
    return list(found)


def _subgraph(nodes: Sequence[Node]) -> list[Node]:
    """The nodes of one operation as a capture of their own, numbered from 0."""
    ends: Node = {"arguments": [], "connections": [], "input_tensors": [], "params": {}, "stacking_level": 0}
    whole = [
        {**ends, "counter": -1, "node_type": "capture_start", "connections": [nodes[0]["counter"]]},
        *nodes,
        {**ends, "counter": -2, "node_type": "capture_end"},
    ]
    numbers = {node["counter"]: place for place, node in enumerate(whole)}
    return [
        {
            **node,
            "counter": place,
            "id": place,
            "connections": [numbers[each] for each in node.get("connections", []) if each in numbers],
            "input_tensors": [numbers[each] for each in node.get("input_tensors", []) if each in numbers],
        }
        for place, node in enumerate(whole)
    ]


def _edges(number: int, nodes: Sequence[Node], rank: int) -> Iterable[tuple[Any, ...]]:
    for node in nodes:
        for place, target in enumerate(node["connections"]):
            yield number, node["counter"], target, place, 0, place, rank


def _programs(listed: Sequence[Operation], rank: int) -> dict[str, Rows]:
    """The programs that operations ran, and the parts of devices that they ran on."""
    rows: dict[str, Rows] = {
        table: []
        for table in ("sub_device_managers", "sub_devices", "operation_executions", "execution_sub_devices")
    }
    for each in listed:
        ran = 0
        for node in each.nodes:
            said = params(node)
            if node.get("node_type") == "sub_device_manager":
                device, manager = int(said["device_id"]), int(said["sub_device_manager_id"])
                rows["sub_device_managers"].append((device, manager, rank))
                for part in json.loads(said.get("sub_devices") or "[]"):
                    cores = json.dumps(part.get("worker_core_ranges", []))
                    rows["sub_devices"].append((device, manager, int(part["sub_device_id"]), cores, rank))
            elif node.get("node_type") == "program_execution" and ran < _EXECUTIONS:
                number, ran = each.id * _EXECUTIONS + ran, ran + 1
                device = int(said["device_id"])
                rows["operation_executions"].append(
                    (
                        number, each.id, device, int(said.get("physical_device_id", device)), int(said["runtime_id"]),
                        int(said["global_call_count"]), int(said["command_queue_id"]), rank,
                    )
                )  # fmt: skip
                if said.get("sub_device_id") is not None:  # else it is not known on which part
                    part = int(said["sub_device_id"])
                    rows["execution_sub_devices"].append(
                        (number, device, int(said["sub_device_manager_id"]), part, rank)
                    )
    return rows
