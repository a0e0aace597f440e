"""Traces: record the operations of a stretch of program once, run them again on the same buffers. Source: reference library 0.81.1.

A capture computes what it records, so shapes, errors and outputs are there at once, where hardware leaves outputs undefined until the
first replay; what recorded operations changed in place is put back at the end of the capture, so that captured work counts as not
done. A replay reads its inputs where they lie (write to them with `copy_host_to_device_tensor`) and writes each result into the buffer
that the capture gave it. Operations on submeshes belong to the capture of the parent.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tt_run import contract
from tt_run.runtime import events
from tt_run.runtime.errors import fatal, incompatible, throw
from tt_run.runtime.mesh import captures, transfer_rules
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.arguments import also_named, public
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.refusals import with_note
from tt_run.runtime.ops.declaration.dispatch import Operation, perform
from tt_run.runtime.queues import queue_number
from tt_run.runtime.tensor.spec.topology import TensorTopology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Buffer

_ids = itertools.count()


@native("ttnn._ttnn.operations.trace.MeshTraceId")
class MeshTraceId(metaclass=Native):
    """Names a trace of a mesh device; `int()` gives its number."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = int(number)

    def __int__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self._number == other._number if isinstance(other, MeshTraceId) else NotImplemented

    def __hash__(self) -> int:
        return hash((MeshTraceId, self._number))

    def __repr__(self) -> str:
        return f"MeshTraceId({self._number})"


@dataclass(frozen=True)
class TracedCall:
    """One operation as it was called, and the tensors that it gave back."""

    operation: Operation
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[Tensor, ...]


@dataclass()
class Trace:
    """The records of a capture on a queue of a mesh device."""

    number: int
    device: MeshDevice
    queue: int
    records: list[TracedCall] = field(default_factory=list)
    _before: dict[int, tuple[Tensor, Shards]] = field(default_factory=dict)
    _twins: dict[tuple[int, int, TensorTopology], Tensor] = field(default_factory=dict)

    def covers(self, device: MeshDevice | None) -> bool:
        """Whether operations on a device belong to this capture: its own mesh and all submeshes of it."""
        while device is not None:
            if device is self.device:
                return True
            device = device.parent
        return False

    def recording(
        self, operation: Operation, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Callable[[Any], None]:
        """Look at an operation before it computes; the function that is returned remembers it with its result."""
        inputs = {id(t): t for t in _tensors((args, kwargs)) if t.is_allocated()}
        before = {key: tensor.shards for key, tensor in inputs.items()}

        def remember(result: Any) -> None:
            for key, tensor in inputs.items():
                if tensor.is_allocated() and tensor.shards is not before[key]:
                    twin = self._twin(tensor)
                    self._before.setdefault(id(twin), (twin, before[key]))
            given, named = _replaced((args, dict(kwargs)), self._twin)
            outputs = tuple(self._twin(tensor) for tensor in _tensors(result))
            self.records.append(TracedCall(operation, given, named, outputs))

        return remember

    def _twin(self, tensor: Tensor) -> Tensor:
        """Another tensor over the same buffer for the records: they must not keep the program's own alive, as no device does.

        One that waits for a socket stays itself: what a replay receives has to be seen through it.
        """
        storage = tensor.storage
        if not isinstance(storage, Buffer):
            return tensor
        key = id(storage), id(tensor.spec), tensor.tensor_topology()
        if key not in self._twins:
            self._twins[key] = tensor.twin()
        return self._twins[key]

    def seal(self) -> None:
        """End the capture: undo what it changed in place outside of its own results."""
        outside = self._outside()
        for key, (tensor, shards) in self._before.items():
            if key in outside and tensor.is_allocated():
                tensor.overwrite(shards)
        self._before.clear()

    def _outside(self) -> set[int]:
        """Tensors that existed before the record that first gave them back: outputs that were passed in."""
        made: set[int] = set()
        outside: set[int] = set()
        for record in self.records:
            outside |= {id(t) for t in _tensors((record.args, record.kwargs))} - made
            made |= {id(t) for t in record.outputs} - outside
        return outside

    def _heirs(self) -> dict[int, Tensor]:
        """What lies where inputs lay that were given back, as a replay on devices reads addresses: programs allocate an input anew at the end
        of a capture. That is the tensor of the same kind at that address if somebody asked for it, else the last of that kind."""
        made: set[int] = set()
        gone: dict[int, Tensor] = {}
        for record in self.records:
            given = (t for t in _tensors((record.args, record.kwargs)) if id(t) not in made)
            gone.update((id(t), t) for t in given if not t.is_allocated())
            made |= {id(t) for t in record.outputs}
        if not gone:
            return {}
        own = {id(t.storage) for record in self.records for t in record.outputs}
        return {key: heir for key, tensor in gone.items() if (heir := _heir(tensor, own)) is not None}

    def replay(self) -> None:
        """Run all records on the same buffers.

        A result whose buffer was given back since the capture lives for the replay only. Raises RuntimeError when an input is gone and no
        other tensor took its place.
        """
        fresh = self._heirs()
        Buffer.stay = True
        try:
            self._run(fresh)
        finally:
            Buffer.stay = False

    def _run(self, fresh: dict[int, Tensor]) -> None:
        for record in self.records:
            args, kwargs = _substituted((record.args, record.kwargs), fresh)
            for old, new in zip(
                record.outputs, _tensors(perform(record.operation, args, kwargs)), strict=True
            ):
                if new is old:
                    continue
                if old.is_allocated():
                    old.overwrite(new.shards)
                else:
                    fresh[id(old)] = new


def _heir(tensor: Tensor, own: set[int]) -> Tensor | None:
    device, old = tensor.device(), tensor.storage
    if device is None or not isinstance(old, Buffer):
        return None
    alike = [
        (other, other.storage.place)
        for other in device.residents
        if isinstance(other, Tensor)
        and isinstance(other.storage, Buffer)
        and other.is_allocated()
        and id(other.storage) not in own
        and other.spec == tensor.spec
    ]
    address = getattr(old.place, "address", None)
    there = [
        other for other, place in alike if address is not None and getattr(place, "address", None) == address
    ]
    return next(iter(there), alike[-1][0] if alike else None)


_capturing: list[Trace] = []
_traces: dict[int, Trace] = {}


@public
def begin_trace_capture(mesh_device: MeshDevice, *, cq_id: Any = None) -> MeshTraceId:
    """Record the operations on a mesh and its submeshes from now on.

    Raises RuntimeError when the queue is being captured already, and where TT_METAL_SLOW_DISPATCH_MODE asks for the mode without queues.
    """
    mesh_device.require_open("begin_trace_capture")
    if contract.SLOW_DISPATCH in os.environ:
        raise throw("Not supported for slow dispatch", hint=f"unset {contract.SLOW_DISPATCH}")
    _forget_closed()
    queue, number = queue_number(mesh_device, cq_id), next(_ids)
    if any(trace.device is mesh_device and trace.queue == queue for trace in _capturing):
        raise fatal(
            f"CQ {queue} is already being used for tracing tid {number}",
            "!trace_id().has_value()",
            hint="ttnn.end_trace_capture(device, trace_id, cq_id=…) first",
        )
    _capturing.append(Trace(number, mesh_device, queue))
    _listen()
    return MeshTraceId(number)


@public
def end_trace_capture(mesh_device: MeshDevice, trace_id: MeshTraceId, *, cq_id: Any = None) -> None:
    """Stop recording. Raises RuntimeError when the queue is not capturing this trace."""
    number, queue = _number(trace_id, "end_trace_capture"), queue_number(mesh_device, cq_id)
    for trace in _capturing:
        if (trace.number, trace.device, trace.queue) == (number, mesh_device, queue):
            _capturing.remove(trace)
            _listen()
            trace.seal()
            _traces[number] = trace
            return
    raise fatal(
        f"CQ {queue} is not being used for tracing tid {number}",
        "trace_id() == trace_id",
        hint="end_trace_capture with the number and the queue that begin_trace_capture had",
    )


@public
def execute_trace(
    mesh_device: MeshDevice, trace_id: MeshTraceId, *, cq_id: Any = None, blocking: bool = True
) -> None:
    """Run a captured trace again. Raises RuntimeError for a released trace and inside of a capture."""
    number = _number(trace_id, "execute_trace")
    queue_number(mesh_device, cq_id)
    mesh_device.require_open("execute_trace")
    if any(trace.covers(mesh_device) for trace in _capturing):
        raise throw("A trace cannot be executed during trace capture.", hint="ttnn.end_trace_capture first")
    trace = _traces.get(number)
    if trace is None or trace.device is not mesh_device:
        raise fatal(
            f"Trace instance {number} must exist on Mesh device {mesh_device.id()}'s active sub-device manager 0",
            "trace_buffer != nullptr",
            hint="execute it before ttnn.release_trace, on the device that captured it",
        )
    global _inside
    begun = events.begin("trace", f"trace {number}", trace) if events.listening else None
    _inside += 1
    try:
        trace.replay()
    except BaseException as error:
        if begun is not None:
            begun.fail(error)
        raise
    finally:
        _inside -= 1
    if begun is not None:
        begun.end(None, None)


@public
def release_trace(mesh_device: MeshDevice, trace_id: MeshTraceId) -> None:
    """Forget a trace and give back what it holds; nothing happens when it is gone already."""
    _traces.pop(_number(trace_id, "release_trace"), None)


@also_named(device="mesh_device")
def is_trace_capture_active(mesh_device: MeshDevice) -> bool:
    """Whether operations on this mesh are being recorded, by a capture on it or on the mesh it was cut from."""
    return any(trace.covers(mesh_device) for trace in _capturing)


def capturing(device: MeshDevice) -> int | None:
    """The number of the last capture that records the operations of a device; None when there is none."""
    return next((trace.number for trace in reversed(_capturing) if trace.covers(device)), None)


def _forget_closed() -> None:
    """Drop the traces and captures of meshes that were closed."""
    for number in [n for n, trace in _traces.items() if not trace.device.is_open]:
        del _traces[number]
    _capturing[:] = [trace for trace in _capturing if trace.device.is_open]


def _listen() -> None:
    """Take part in operations and transfers while there is a capture."""
    if _capturing and not _leave:
        _leave.extend((events.precede(_record), transfer_rules.add_rule(_forbid)))
        captures.covering.append(is_trace_capture_active)
    elif not _capturing:
        while _leave:
            _leave.pop()()
        captures.covering.clear()


_leave: list[Callable[[], None]] = []
_inside = 0
"""How many recorded operations and replays are under way: what happens inside of one is part of it."""


def _record(begun: events.Begun) -> events.After | None:
    """Let the last capture that covers one of the operation's devices record it."""
    global _inside
    if begun.kind != "op":
        return None
    remember = None
    if not _inside:
        devices = list(_devices((begun.args, begun.kwargs)))
        covering = [trace for trace in _capturing if any(trace.covers(device) for device in devices)]
        if covering:
            remember = covering[-1].recording(begun.subject, begun.args, begun.kwargs)
    _inside += 1

    def after(result: Any, error: BaseException | None) -> None:
        global _inside
        _inside -= 1
        if remember is not None and error is None:
            remember(result)

    return after


def _forbid(device: MeshDevice, direction: str) -> None:
    if any(trace.covers(device) for trace in _capturing):
        raise fatal(
            f"{direction.capitalize()}s are not supported during trace capture.",
            "!trace_id_.has_value()",
            hint="write before ttnn.begin_trace_capture and read after ttnn.end_trace_capture",
        )


def _number(trace_id: MeshTraceId, name: str) -> int:
    if not isinstance(trace_id, MeshTraceId):
        signature = f"{name}(mesh_device: ttnn.MeshDevice, trace_id: ttnn.MeshTraceId, …)"
        error = incompatible(name, (signature,), kwargs={"trace_id": trace_id})
        raise with_note(error, "help: trace_id is what ttnn.begin_trace_capture has given")
    return int(trace_id)


def _tensors(value: Any) -> Iterator[Tensor]:
    """Every tensor in nested arguments or results."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)


def _devices(value: Any) -> Iterator[MeshDevice | None]:
    """The mesh devices of nested arguments: named, or those of tensors."""
    if isinstance(value, MeshDevice):
        yield value
    elif isinstance(value, Tensor):
        yield value.device()
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _devices(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _devices(item)
    elif isinstance(device := getattr(value, "device", None), MeshDevice):  # such as a stream service
        yield device


def _substituted(value: Any, fresh: dict[int, Tensor]) -> Any:
    """Nested arguments with the tensors of this replay in place of those that were given back."""
    return _replaced(value, lambda tensor: fresh.get(id(tensor), tensor)) if fresh else value


def _replaced(value: Any, other: Callable[[Tensor], Tensor]) -> Any:
    """Nested arguments with other tensors."""
    if isinstance(value, Tensor):
        return other(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(item, other) for item in value)
    if isinstance(value, dict):
        return {key: _replaced(item, other) for key, item in value.items()}
    return value
