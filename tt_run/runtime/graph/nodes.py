"""The graph while it is captured: nodes in the form of the reference's JSON, and the edges between them."""

from __future__ import annotations

from typing import Any

from tt_run.runtime import events
from tt_run.runtime.enums import BufferType
from tt_run.runtime.memory.footprint import Footprint
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor

Node = dict[str, Any]
_BUFFER_NUMBERS = {BufferType.DRAM: 0, BufferType.L1: 1, BufferType.L1_SMALL: 3, BufferType.TRACE: 4}


class Nodes:
    """A list of nodes that grows. Edges go from a function to what happens in it, from a tensor to who takes it."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._open: list[int] = []
        self._began: list[float] = []
        self._finished: int | None = None
        self._begin("capture_start", None, [])

    def _add(self, kind: str, params: dict[str, str] | None, connections: list[int]) -> Node:
        node: Node = {
            "arguments": [],
            "connections": connections,
            "counter": len(self.nodes),
            "input_tensors": [],
            "node_type": kind,
            "params": params,
            "stacking_level": len(self._open),
        }
        self.nodes.append(node)
        return node

    def _begin(self, kind: str, params: dict[str, str] | None, arguments: list[str]) -> Node:
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

    def function_start(self, name: str, arguments: list[str], inputs: int) -> int:
        """Open a function."""
        return int(self._begin("function_start", {"inputs": str(inputs), "name": name}, arguments)["counter"])

    def take(self, function: int, tensors: list[int]) -> None:
        """Tensors go into a function."""
        self.nodes[function]["input_tensors"] = tensors
        for tensor in tensors:
            self.connect(tensor, function)

    def function_end(self, outputs: list[int], reason: str | None = None) -> int:
        """Close the last function."""
        start = self._open.pop()
        params = {"name": self.nodes[start]["params"]["name"]}
        if reason is not None:
            params["aborted"] = reason
        return self._close("function_end", params, start, outputs)

    def capture_end(self) -> None:
        """Close the capture itself, and what is still open in it."""
        while len(self._open) > 1:
            self.function_end([], "the capture ended")
        start = self._open.pop()
        if self._finished is not None:
            start = self._finished
        self._close("capture_end", None, start, [])

    def _close(self, kind: str, params: dict[str, str] | None, source: int, outputs: list[int]) -> int:
        node = self._add(kind, params, list(outputs))
        node["duration_ns"] = round((events.now() - self._began.pop()) * 1e9)
        self.connect(source, node["counter"])
        self._finished = node["counter"]
        return int(node["counter"])

    def tensor(self, tensor: Tensor, address: int | None) -> int:
        """A node for a tensor."""
        spec = tensor.spec
        params = {
            "tensor_id": str(tensor.tensor_id),
            "shape": repr(spec.shape),
            "dtype": spec.dtype.name.lower(),
            "layout": spec.layout.name,
            "size": str(tensor.logical_volume() * tensor.element_size()),
        }
        device = tensor.device()
        if device is not None and address is not None:
            params |= {
                "memory_config": repr(spec.memory_config),
                "device_id": str(device.id()),
                "address": str(address),
                "buffer_type": spec.memory_config.buffer_type.name,
            }
        return int(self._add("tensor", params, [])["counter"])

    def buffer(self, spec: TensorSpec, size: Footprint, device_id: int) -> int:
        """A node for a buffer, as part of what is open."""
        params = {
            "size": str(size.total),
            "type": spec.memory_config.buffer_type.name,
            "layout": spec.memory_config.memory_layout.name,
            "device_id": str(device_id),
            "max_size_per_bank": str(size.per_bank),
        }
        return self._inside("buffer", params, [])

    def allocate(self, buffer: int, spec: TensorSpec, size: Footprint, address: int) -> None:
        """The moment in which a buffer gets its room."""
        params = {
            **self.nodes[buffer]["params"],
            "address": str(address),
            "buffer_type": str(_BUFFER_NUMBERS[spec.memory_config.buffer_type]),
        }
        self._inside("buffer_allocate", params, [buffer])

    def deallocate(self, buffer: int) -> None:
        """The moment in which a buffer goes."""
        self._inside("buffer_deallocate", dict(self.nodes[buffer]["params"]), [buffer])

    def _inside(self, kind: str, params: dict[str, str], connections: list[int]) -> int:
        node = self._add(kind, params, connections)
        self.connect(self._open[-1], node["counter"])
        return int(node["counter"])
