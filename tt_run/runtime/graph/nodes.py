"""The graph while it is captured: nodes in the form of the reference's JSON, and the edges between them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.enums import BufferType, Layout
from tt_run.runtime.memory.footprint import Footprint
from tt_run.runtime.tensor.spec.tensor_spec import Shape, TensorSpec
from tt_run.runtime.tensor.tensor import Tensor, next_tensor_id

Node = dict[str, Any]
Params = dict[str, Any]
_BUFFER_NUMBERS = {BufferType.DRAM: 0, BufferType.L1: 1, BufferType.L1_SMALL: 3, BufferType.TRACE: 4}


class Nodes:
    """A list of nodes that grows. Edges go from a function to what happens in it, from a tensor to who takes it."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._open: list[int] = []
        self._began: list[float] = []
        self._finished: int | None = None
        self._room: dict[int, Params] = {}
        self._begin("capture_start", None, [])

    def _add(
        self, kind: str, params: Params | None, connections: list[int], level: int | None = None
    ) -> Node:
        node: Node = {
            "arguments": [],
            "connections": connections,
            "counter": len(self.nodes),
            "input_tensors": [],
            "node_type": kind,
            "params": params,
            "stacking_level": len(self._open) if level is None else level,
        }
        self.nodes.append(node)
        return node

    def _begin(self, kind: str, params: Params | None, arguments: list[str]) -> Node:
        node = self._add(kind, params, [])
        node["arguments"] = arguments
        if self._open:
            self.connect(self._open[-1], node["counter"])
        if self._finished is not None:
            self.connect(self._finished, node["counter"])
        self._finished = None
        self._open.append(node["counter"])
        self._began.append(events.now())
        return node

    def connect(self, source: int, target: int) -> None:
        """An edge."""
        self.nodes[source]["connections"].append(target)

    @property
    def depth(self) -> int:
        """How many functions are open."""
        return len(self._open) - 1

    @property
    def next(self) -> int:
        """The number that the next node will have."""
        return len(self.nodes)

    def function_start(self, name: str, arguments: list[str], inputs: int, more: Params | None = None) -> int:
        """Open a function."""
        params = {"inputs": str(inputs), "name": name, **(more or {})}
        return int(self._begin("function_start", params, arguments)["counter"])

    def forget(self, first: int) -> None:
        """Take back everything from the node `first` on, functions that are still open included."""
        while self._open[-1] >= first:
            self._open.pop()
            self._began.pop()
        del self.nodes[first:]
        for node in self.nodes:
            node["connections"] = [number for number in node["connections"] if number < first]
        self._finished = None

    def take(self, function: int, tensors: list[int]) -> None:
        """Tensors go into a function."""
        self.nodes[function]["input_tensors"] = tensors
        for tensor in tensors:
            self.connect(tensor, function)

    def function_end(
        self, outputs: list[int], reason: str | None = None, *, aborted: bool = False, why: str = ""
    ) -> int:
        """Close the last function; one that was `aborted` may say why."""
        start = self._open.pop()
        params = {"name": self.nodes[start]["params"]["name"]}
        if aborted:
            params = {**({"abort_reason": why} if why else {}), "aborted": "true", **params}
        if reason is not None:
            params = {"aborted": "true", "error": reason, **params}
        return self._close("function_end", params, start, outputs)

    def capture_end(self) -> None:
        """Close the capture itself, and what is still open in it."""
        while len(self._open) > 1:
            self.function_end([], "the capture ended")
        start = self._open.pop()
        if self._finished is not None:
            start = self._finished
        self._close("capture_end", None, start, [])

    def _close(self, kind: str, params: Params | None, source: int, outputs: list[int]) -> int:
        node = self._add(kind, params, list(outputs))
        node["duration_ns"] = round((events.now() - self._began.pop()) * 1e9)
        self.connect(source, node["counter"])
        self._finished = node["counter"]
        return int(node["counter"])

    def tensor(
        self, tensor: Tensor, address: int | None, level: int, shape: Iterable[int], *, view: bool = False
    ) -> int:
        """A node for a tensor; `level` is that of the function it goes into or comes from. A `view` tells no address of its own.

        What a tensor of a device is on the host, before it is sent or after it came, is another tensor there: it gets another number.
        """
        spec = tensor.spec
        device = tensor.device()
        held: Params = {"storage_type": "HOST"}
        if device is not None and address is not None:
            chips = [
                {"address": address, "device_id": chip, "mesh_device_id": device.id()}
                for chip in device.get_device_ids()
            ]
            held = {
                "address": address,
                "buffer_type": _BUFFER_NUMBERS[spec.memory_config.buffer_type],
                "device_id": device.id(),
                "device_tensors": json.dumps(chips, separators=(",", ":")),
                "memory_config": repr(spec.memory_config),
                "storage_type": "DEVICE",
            }
            if view:
                del held["address"], held["device_id"]
        params: Params = {
            **held,
            "dtype": f"DataType::{spec.dtype.name}",
            "layout": f"Layout::{'ROW_MAJOR' if spec.layout is Layout.ROW_MAJOR else 'TILE'}",
            "shape": repr(Shape(tuple(shape))),
            "size": tensor.logical_volume() * tensor.element_size(),
            "tensor_id": tensor.tensor_id if device is None or address is not None else next_tensor_id(),
        }
        return int(self._add("tensor", dict(sorted(params.items())), [], level)["counter"])

    def buffer(self, spec: TensorSpec, size: Footprint, device_id: int) -> int:
        """A node for a buffer, as part of what is open."""
        params: Params = {
            "buffer_type": _BUFFER_NUMBERS[spec.memory_config.buffer_type],
            "device_id": device_id,
            "layout": spec.memory_config.memory_layout.name,
            "size": size.pages * size.page,
            "type": spec.memory_config.buffer_type.name,
        }
        return self.inside("buffer", params, [])

    def allocate(self, buffer: int, spec: TensorSpec, size: Footprint, address: int) -> None:
        """The moment in which a buffer gets its room."""
        more = {
            "address": address,
            "max_size_per_bank": size.deep * size.padded,
            "num_cores": size.banks if spec.memory_config.is_sharded() else 0,
            "page_size": size.page,
        }
        self._room[buffer] = dict(sorted({**self.nodes[buffer]["params"], **more}.items()))
        self.inside("buffer_allocate", dict(self._room[buffer]), [buffer])

    def deallocate(self, buffer: int) -> None:
        """The moment in which a buffer goes."""
        self.function_start("Tensor::deallocate", [], 0)
        self.inside("buffer_deallocate", dict(self._room[buffer]), [buffer])
        self.function_end([])

    def inside(self, kind: str, params: Params, connections: list[int]) -> int:
        """A node of what is open."""
        node = self._add(kind, params, connections, self.depth)
        self.connect(self._open[-1], node["counter"])
        return int(node["counter"])


def mesh_text(tensor: Tensor) -> str:
    """The mesh of a tensor, as an argument of a function."""
    device = tensor.device()
    return "nullptr" if device is None else f"MeshDevice(id={device.id()})"


def argument(value: Any, storage: str = "") -> str:
    """A value as an argument of a function; a tensor may be told in a storage that it is no longer in."""
    if isinstance(value, Tensor):
        storage = storage or ("HostStorage" if value.device() is None else "DeviceStorage")
        return f"Tensor(storage={storage}(),tensor_spec={value.spec.text()})"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(argument, value))}]"
    return repr(value)
