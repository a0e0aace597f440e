"""The buffers of devices while a captured graph goes on, and their pages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.enums import TensorMemoryLayout
from tt_run.runtime.graph.database.functions import Graph, params, tensor_id
from tt_run.runtime.graph.nodes import Node

_LAYOUTS = {layout.name: layout.value for layout in TensorMemoryLayout}
"""The numbers by which ttnn-visualizer knows them; those that the reference writes for captures without snapshots it cannot show."""


_KINDS = {"DRAM": 0, "L1": 1, "SYSTEM_MEMORY": 2, "L1_SMALL": 3, "TRACE": 4}


@dataclass(frozen=True, slots=True)
class Buffer:
    """Where a buffer lies in each bank of a memory, and how much of the fullest it takes; its kind and layout by number."""

    device: int
    address: int
    size: int
    kind: int
    layout: int

    @classmethod
    def told(cls, found: Mapping[str, Any]) -> Buffer:
        """A buffer as a device told it."""
        keys = ("device_id", "address", "max_size_per_bank", "buffer_type", "buffer_layout")
        return cls(*(int(found.get(key, 0)) for key in keys))


class Live:
    """Buffers that were allocated and not freed, and of whom they are."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._buffers: dict[tuple[int, int, int], Buffer] = {}
        self._owners: dict[int, int] = {}
        for node in graph:
            if node.get("node_type") == "tensor" and params(node).get("address") is not None:
                self._owners.setdefault(int(params(node)["address"]), tensor_id(node))

    def allocate(self, node: Node) -> None:
        """A buffer gets its room."""
        said = params(node)
        size = said.get("max_size_per_bank", said.get("size", 0))
        buffer = Buffer(
            int(said.get("device_id", 0)),
            int(said.get("address", 0)),
            int(size),
            _kind(said),
            _LAYOUTS.get(said.get("layout", "INTERLEAVED"), 0),
        )
        self._buffers[buffer.device, buffer.kind, buffer.address] = buffer

    def free(self, node: Node) -> int | None:
        """A buffer goes; the number of the tensor that was in it."""
        said = params(node)
        if "address" not in said:
            held = (
                self._graph[number] for number in node.get("connections", []) if number < len(self._graph)
            )
            said = next((params(each) for each in held if each.get("node_type") == "buffer_allocate"), {})
        address = int(said.get("address", 0))
        self._buffers.pop((int(said.get("device_id", 0)), _kind(said), address), None)
        return self._owners.get(address)

    def buffers(self) -> list[Buffer]:
        """Those that live."""
        return list(self._buffers.values())


def _kind(said: Mapping[str, Any]) -> int:
    """The number of a buffer's memory; older captures tell its name alone."""
    return int(said.get("buffer_type", _KINDS.get(said.get("type", "DRAM"), 0)))


class Pages:
    """The pages of each buffer as devices told them, by address and by when it was allocated there."""

    def __init__(self, told: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self._told: dict[int, list[tuple[int, Sequence[Mapping[str, Any]]]]] = {}
        for address, snapshots in told.items():
            dated = bool(snapshots) and "alloc_counter" in snapshots[0]
            listed = [(int(each["alloc_counter"]), each["pages"]) for each in snapshots] if dated else []
            self._told[int(address)] = sorted(listed or [(0, snapshots)], key=lambda each: each[0])

    def at(self, address: int, node: int) -> Sequence[Mapping[str, Any]]:
        """The pages of the buffer that lies at an address when the graph has come to a node."""
        told = self._told.get(address)
        if not told:
            return ()
        return told[max(bisect_right([when for when, _ in told], node) - 1, 0)][1]


def chunks(operation: int, pages: Iterable[Mapping[str, Any]], rank: int) -> list[tuple[Any, ...]]:
    """Rows for pages of one buffer that lie on one core: where they begin, how far they reach, the largest and how many."""
    found: dict[tuple[int, ...], list[int]] = {}
    for page in pages:
        keys = ("device_id", "address", "bank_id", "core_x", "core_y", "buffer_type")
        start, size = int(page.get("page_address", 0)), int(page.get("page_size", 0))
        held = found.setdefault(tuple(int(page.get(key, 0)) for key in keys), [start, start + size, size, 0])
        held[:] = min(held[0], start), max(held[1], start + size), max(held[2], size), held[3] + 1
    return [
        (operation, *key[:5], start, end - start, size, count, key[5], rank)
        for key, (start, end, size, count) in found.items()
    ]
