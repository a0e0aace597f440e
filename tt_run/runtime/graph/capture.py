"""Beginning and ending a capture. With `RunMode.NO_DISPATCH` nothing is computed: tensors made meanwhile have shapes only."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.enums import Layout, NamedEnum
from tt_run.runtime.errors import fatal
from tt_run.runtime.graph.device_operations import native_name
from tt_run.runtime.graph.nodes import Node, Nodes
from tt_run.runtime.memory.account import Account, Allocation
from tt_run.runtime.memory.footprint import footprint
from tt_run.runtime.native import native
from tt_run.runtime.ops.costs import tensors
from tt_run.runtime.ops.dispatch import FastOperation
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes

REPORT_VERSION = 1
_ALIGNMENT = 32
_TO_FRAMEWORK = "tt::tt_metal::detail::convert_tt_tensor_to_framework_tensor"
_CROSSINGS = {
    "ttnn.from_torch": ("ttnn.from_torch", "ttnn::convert_python_tensor_to_tt_tensor", "Tensor::to_device"),
    "ttnn.to_torch": ("ttnn.to_torch", "ttnn.from_device", "Tensor::cpu"),
    "ttnn.to_device": ("ttnn.to_device", "Tensor::to_device"),
    "ttnn.from_device": ("ttnn.from_device", "Tensor::cpu"),
}
"""The functions of the reference that a tensor passes between program, host and device, from captures of 0.81.1."""


@native("ttnn._ttnn.graph.RunMode")
class RunMode(NamedEnum):
    """NORMAL computes as always; NO_DISPATCH gives shapes only, and addresses of 0."""

    NORMAL = 0
    NO_DISPATCH = 1


class Capture:
    """One capture: what it hears becomes nodes."""

    def __init__(self, mode: RunMode) -> None:
        self.mode = mode
        self.nodes = Nodes()
        self._leave = ExitStack()
        self._addresses = itertools.count(_ALIGNMENT, _ALIGNMENT)
        self._buffers: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._tensors: dict[int, int] = {}
        # By allocation: its buffer's node, and the number of the storage while that lives.
        self._allocated: dict[int, tuple[int, int]] = {}
        self._account = Account()
        self._account.heard = self._heard
        if mode is RunMode.NO_DISPATCH:
            self._leave.enter_context(shapes.only())
        self._account.start()
        self._leave.callback(self._account.stop)
        self._leave.callback(events.precede(self._before))
        self._moving = False
        before, FastOperation.crossing = FastOperation.crossing, self._cross
        self._leave.callback(setattr, FastOperation, "crossing", before)

    def end(self) -> list[Node]:
        """The nodes; nothing is heard any more."""
        self._leave.close()
        self._account.heard = None
        self.nodes.capture_end()
        return self.nodes.nodes

    def _before(self, begun: events.Begun) -> events.After | None:
        if begun.kind != "op":
            return None
        given = list(tensors((begun.args, tuple(begun.kwargs.values()))))
        arguments = [_argument(value) for value in (*begun.args, *begun.kwargs.values())]
        start = self.nodes.function_start(begun.name, arguments, len(given))
        # A native operation has two arguments: what it is to do, and the tensors.
        plain = [text for text in arguments if not text.startswith(("Tensor(", "[Tensor("))]
        native = [f"({', '.join(plain)})", f"{{{', '.join(map(_argument, given))}}}"]
        inner = self.nodes.function_start(native_name(begun.name), native, len(native))
        inputs = [self._taken(tensor, inner) for tensor in given]
        self.nodes.take(start, inputs)
        self.nodes.take(inner, list(inputs))

        def after(result: Any, error: BaseException | None) -> None:
            if error is None and _stayed(given, result):
                self.nodes.reshapes(inner)
            reason = None if error is None else (str(error).splitlines() or [type(error).__name__])[0]
            end = self.nodes.function_end([], reason)
            outputs = [] if error is not None else [self._given(tensor, end) for tensor in tensors(result)]
            self.nodes.function_end(outputs)

        return after

    def _cross(self, operation: FastOperation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A tensor goes to a device or comes from one: functions inside of each other, as the reference names them."""
        names = _CROSSINGS.get(operation.name)
        given = next(tensors((args, tuple(kwargs.values()))), None)
        if names is None:
            return operation.compute(*args, **kwargs)
        if operation.name == "ttnn.to_torch" and (given is None or given.device() is None):
            names = names[:1]
        elif operation.name == "ttnn.from_torch" and kwargs.get("device") is None:
            names = names[:2]
        starts = [self.nodes.function_start(name, [], 0) for name in names]
        if given is not None and len(starts) > 1:
            self.nodes.take(starts[-1], [self._taken(given, starts[-1])])
        self._moving = True
        result: Any = None
        try:
            result = operation.compute(*args, **kwargs)
        finally:
            self._moving = False
            for _ in starts[1:]:
                end = self.nodes.function_end([])
                if isinstance(result, Tensor):
                    self._given(result, end)
            if operation.name == "ttnn.to_torch":
                self.nodes.function_start(_TO_FRAMEWORK, [], 0)
                self.nodes.function_end([])
            self.nodes.function_end([])
        return result

    def _taken(self, tensor: Tensor, function: int) -> int:
        """The node of a tensor that goes into a function, with its buffer where that was there before the capture."""
        known = self._tensors.get(tensor.tensor_id)
        if known is not None:
            return known
        node = self._tensors[tensor.tensor_id] = self._node(tensor, self.nodes.depth)
        device, storage = tensor.device(), _place(tensor)
        if device is not None and storage not in self._buffers:
            buffer = self._buffers[storage] = self.nodes.buffer(
                tensor.spec, footprint(tensor.spec, device.arch().name), device.id()
            )
            self.nodes.connect(buffer, node)
        return node

    def _given(self, tensor: Tensor, end: int) -> int:
        """The node of a tensor that a function which has ended gives back."""
        node = self._tensors[tensor.tensor_id] = self._node(tensor, self.nodes.depth + 1)
        self.nodes.connect(end, node)
        return node

    def _node(self, tensor: Tensor, level: int) -> int:
        buffer = self._buffers.get(_place(tensor))
        address = None if tensor.device() is None else self._places.get(_place(tensor), 0)
        node = self.nodes.tensor(tensor, address, level)
        if buffer is not None:
            self.nodes.connect(buffer, node)
        return node

    def _heard(self, allocation: Allocation, tensor: Tensor | None) -> None:
        key = id(allocation)
        if tensor is None:
            if key not in self._allocated:
                return
            buffer, storage = self._allocated.pop(key)
            self._buffers.pop(storage, None)
            self._places.pop(storage, None)
            self.nodes.deallocate(buffer)
            return
        device, spec, storage = tensor.device(), tensor.spec, _place(tensor)
        assert device is not None
        if storage in self._buffers:  # a view of what was there before the capture
            return
        if self._moving:
            buffer = self._buffers[storage] = self.nodes.buffer(spec, allocation.size, device.id())
            self._places[storage] = self._address()
            self.nodes.allocate(buffer, spec, allocation.size, self._places[storage])
            self._allocated[key] = buffer, storage
            return
        layout = "ROW_MAJOR" if spec.layout is Layout.ROW_MAJOR else "TILE"
        arguments = [repr(spec.shape), f"DataType::{spec.dtype.name}", f"Layout::{layout}"]
        arguments += [f"MeshDevice(id={device.id()})", repr(spec.memory_config)]
        self.nodes.function_start("tt::tt_metal::create_device_tensor", arguments, len(arguments))
        buffer = self.nodes.buffer(spec, allocation.size, device.id())
        self._places[storage] = self._address()
        self.nodes.allocate(buffer, spec, allocation.size, self._places[storage])
        self._buffers[storage] = buffer
        self._given(tensor, self.nodes.function_end([]))
        self._allocated[key] = buffer, storage

    def _address(self) -> int:
        return 0 if self.mode is RunMode.NO_DISPATCH else next(self._addresses)


def _place(tensor: Tensor) -> int:
    """The number of the place that a tensor lies in, which those have in common that are one buffer under several shapes."""
    return id(getattr(tensor.storage, "place", tensor.storage))


def _stayed(given: list[Tensor], result: Any) -> bool:
    """Whether an operation gave back an operand's bytes under another shape."""
    found = list(tensors(result))
    same = [(each, tensor) for each in found for tensor in given if _place(each) == _place(tensor)]
    return len(found) == len(same) == 1 and same[0][0].shape != same[0][1].shape


def _argument(value: Any) -> str:
    if isinstance(value, Tensor):
        storage = "HostStorage" if value.device() is None else "DeviceStorage"
        return f"Tensor(storage={storage}(),tensor_spec={value.spec.text()})"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_argument, value))}]"
    return repr(value)


_captures: list[Capture] = []


def begin_graph_capture(run_mode: RunMode | None = None) -> None:
    """Capture operations from now on; captures may lie in each other."""
    _captures.append(Capture(RunMode.NORMAL if run_mode is None else RunMode(run_mode)))


def end_graph_capture() -> list[Node]:
    """End the last capture: its nodes. Raises RuntimeError when none is active."""
    if not _captures:
        raise fatal("end_graph_capture: no graph capture is active", hint="ttnn.graph.begin_graph_capture()")
    return _captures.pop().end()


def is_graph_capture_active() -> bool:
    """Whether a capture has begun and not ended."""
    return bool(_captures)


def end_graph_capture_to_file(report_path: str | os.PathLike[str]) -> str:
    """End the last capture and write version, graph, devices and metadata to a JSON file; the graph as text."""
    graph = end_graph_capture()
    ids = sorted({node["params"]["device_id"] for node in graph if "device_id" in (node["params"] or {})})
    report = {
        "version": REPORT_VERSION,
        "graph": graph,
        "devices": [{"device_id": int(each)} for each in ids],
        "metadata": {"timestamp": datetime.now(timezone.utc).isoformat()},
    }
    path = Path(report_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1), encoding="utf-8")
    return json.dumps(graph)


def track_function_start(function_name: str) -> None:
    """Open a function of one's own in the active capture; nothing happens without one."""
    if _captures:
        _captures[-1].nodes.function_start(function_name, [], 0)


def track_function_end() -> None:
    """Close the function that `track_function_start` opened."""
    if _captures and _captures[-1].nodes.depth:
        _captures[-1].nodes.function_end([])


@contextmanager
def full_graph_capture(
    report_path: str, *, run_mode: RunMode | None = None, slow_dispatch: bool = True
) -> Iterator[None]:
    """Capture a `with` block and write the report. `slow_dispatch` changes nothing: operations are captured alike."""
    begin_graph_capture(run_mode)
    try:
        yield
    except BaseException:
        end_graph_capture()
        raise
    end_graph_capture_to_file(report_path)
