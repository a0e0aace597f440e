"""Beginning and ending a capture. With `RunMode.NO_DISPATCH` nothing is computed: tensors made meanwhile have shapes only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.enums import Layout, NamedEnum
from tt_run.runtime.graph import calls
from tt_run.runtime.graph.device_operations import LISTS, steps
from tt_run.runtime.graph.nodes import Node, Nodes, argument, mesh_text
from tt_run.runtime.graph.programs import Programs, program_of
from tt_run.runtime.graph.snapshots import Snapshots, is_detailed_buffer_tracing_enabled
from tt_run.runtime.memory.account import Allocation, MemoryAccount
from tt_run.runtime.memory.footprint import cores_of, footprint
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.classes import native
from tt_run.runtime.ops.declaration import programs
from tt_run.runtime.ops.declaration.costs import tensors
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes

_CREATE = "tt::tt_metal::create_device_tensor"
_CPU, _TO_DEVICE = "Tensor::cpu", "Tensor::to_device"
_TO_FRAMEWORK = "tt::tt_metal::detail::convert_tt_tensor_to_framework_tensor"
_DTYPE = "tt::tt_metal::to_dtype"
_CROSSINGS = {
    "ttnn.from_torch": ("ttnn.from_torch", "ttnn::convert_python_tensor_to_tt_tensor"),
    "ttnn.to_torch": ("ttnn.to_torch", "ttnn.from_device", _CPU),
    "ttnn.to_device": ("ttnn.to_device",),
    "ttnn.from_device": ("ttnn.from_device", _CPU),
    **{f"ttnn.{word}": (f"ttnn.{word}",) for word in ("zeros", "ones", "full", "arange", "deallocate")},
    **{f"ttnn.{word}": (f"ttnn.{word}",) for word in ("empty", "empty_like")},
}
"""The functions of the reference that a tensor passes between program, host and device, from captures of 0.81.1."""
_SENT = ("from_torch", "to_device", "zeros", "ones", "full", "arange")
"""Of them, those that make a tensor on the host and send it."""
_INPUTS = {_TO_DEVICE: 3, _CPU: 2, _DTYPE: 2, "ttnn::convert_python_tensor_to_tt_tensor": 8, _TO_FRAMEWORK: 1}
"""How many arguments they have; those that the program calls are told without."""
_BLOCKING = "1"
_COMPUTED = ("ttnn.zeros_like", "ttnn.ones_like", "ttnn.full_like", "ttnn.rand")
"""What makes tensors with a program of the device."""


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
        self.calls = calls.Calls(
            stacks=calls.is_python_stack_trace_enabled()
            or CONFIG.enable_graph_python_stack_traces
            or CONFIG.enable_detailed_tensor_report
        )
        self.devices: dict[int, MeshDevice] = {}
        self.snapshots = Snapshots() if is_detailed_buffer_tracing_enabled() else None
        # By place: the node of its buffer, and where that begins.
        self._buffers: dict[int, int] = {}
        self._places: dict[int, int] = {}
        # By allocation: its buffer's node, and the number of the place while that lives.
        self._allocated: dict[int, tuple[int, int]] = {}
        # Tensors that are other shapes of a buffer: the reference tells no buffer of them.
        self._views: set[int] = set()
        self._programs = Programs(self.nodes, dispatched=mode is RunMode.NORMAL)
        self._account = MemoryAccount()
        self._account.heard = self._heard
        if mode is RunMode.NO_DISPATCH:
            self._leave.enter_context(shapes.only())
            self._leave.callback(setattr, FastOperation, "dispatched", FastOperation.dispatched)
            FastOperation.dispatched = False
        self._account.start()
        self._leave.callback(self._account.stop)
        self._leave.callback(events.precede(self._before))
        self._quiet = self._lifted = False
        self._sending = ""
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
        return self._begin(begun.subject, begun.args, begun.kwargs)

    def _begin(self, operation: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> events.After:
        """The functions of a call, which one of the program has around it and one of the device inside."""
        name = operation.name
        given = list(tensors((args, tuple(kwargs.values()))))
        if name.endswith("_") and not name.endswith("__"):
            given.append(given[0])  # which it writes, too
        found = steps(name, args, kwargs, given)
        outer = [] if name == "ttnn.Tensor.reshape" else [name, *([found.within] if found.within else [])]
        record = self.calls.begin(name, args, kwargs) if outer else {}
        begun = self.nodes.next
        for function in outer:
            self.nodes.function_start(function, [], 0)
        first = self.nodes.next
        lifted = {id(tensor) for tensor in given[: found.before]}
        for tensor in given[: found.before]:
            self._reshape(tensor, tensor, lifted_shape(tensor.shape))
        program = program_of(operation, args, kwargs, given)
        arguments = [argument(value) for value in (*args, *kwargs.values())]
        # A native operation has two arguments: what it is to do, and the tensors.
        plain = [text for text in arguments if not text.startswith(("Tensor(", "[Tensor("))]
        told = [f"({', '.join(plain)})", f"{{{', '.join(map(argument, given))}}}"]
        inner = self.nodes.function_start(
            found.native,
            told,
            len(told),
            {"program_cache_hit": program.cached, **program.factory(found.native)},
        )
        self.nodes.take(
            inner,
            [
                self._node(
                    each, self.nodes.depth, view=id(each) in lifted, lifted=id(each) in lifted, known=False
                )
                for each in given
            ],
        )
        before, self._lifted = self._lifted, found.after

        def after(result: Any, error: BaseException | None) -> None:
            self._lifted = before
            calls.end(record, result, error)
            results = [] if error is not None else list(tensors(result))
            if error is None and _stayed(operation, args, given, result):
                self._forget(first)
                if given[0].shape != results[0].shape:
                    self._reshape(given[0], results[0], results[0].shape)
            else:
                if error is None:
                    self._programs.run(inner, found.native, given, results, program)
                end = self.nodes.function_end([], aborted=error is not None)
                for each in results if len(results) == 1 or found.native in LISTS else ():
                    self._given(each, end, lifted=found.after)
                if found.after:
                    for each in results:
                        self._reshape(each, each, each.shape, lifted=True)
            for _ in outer:
                self.nodes.function_end([])
            self._ended(begun)

        return after

    def _ended(self, begun: int) -> None:
        """A function that the program called has ended."""
        if self.snapshots is not None and not self.nodes.depth:
            self.snapshots.take(begun, self.nodes.next - 1, self.devices.values())

    def _reshape(self, tensor: Tensor, result: Tensor, shape: Iterable[int], *, lifted: bool = False) -> None:
        """A tensor becomes a view of another shape; where it is `lifted`, it had four dimensions before."""
        own = tuple(shape)
        padded = (*own[:-2], *result.padded_shape[-2:]) if len(own) > 1 else own
        told = [argument(tensor), repr(Shape(own)), repr(Shape(padded))]
        start = self.nodes.function_start("Tensor::reshape", told, 3)
        self.nodes.take(start, [self._node(tensor, self.nodes.depth, lifted=lifted, known=False)])
        end = self.nodes.function_end([])
        node = self._node(
            tensor if result is tensor else result, self.nodes.depth + 1, view=True, shape=shape
        )
        self.nodes.connect(end, node)
        if lifted or result is not tensor:
            self._views.add(result.tensor_id)

    def _forget(self, first: int) -> None:
        """An operation found its operand as it was to be: nothing has run on the device."""
        self.nodes.forget(first)
        self._buffers = {place: node for place, node in self._buffers.items() if node < first}

    def _cross(self, operation: FastOperation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A tensor goes to a device or comes from one: functions inside of each other, as the reference names them."""
        names = _CROSSINGS.get(operation.name)
        given = next(tensors((args, tuple(kwargs.values()))), None)
        on_device = _target(args, kwargs, given) is not None
        if operation.name in _COMPUTED and on_device:
            return self._compute(operation, args, kwargs)
        if names is None:
            return operation.compute(*args, **kwargs)
        if names[-1] == _CPU and (given is None or given.device() is None):
            names = names[:1]
        fetched = given if names[-1] == _CPU else None
        record = self.calls.begin(operation.name, args, kwargs)
        told = {_CPU: [argument(given), _BLOCKING]}
        starts = [self.nodes.function_start(name, told.get(name, []), _INPUTS.get(name, 0)) for name in names]
        if fetched is not None:
            self.nodes.take(starts[-1], [self._node(fetched, self.nodes.depth, known=False)])
        before = self._sending, self._quiet
        self._sending = operation.short_name if operation.short_name in _SENT else ""
        self._quiet = operation.name == "ttnn.empty_like"
        result: Any = None
        raised: BaseException | None = None
        try:
            result = operation.compute(*args, **kwargs)
        except BaseException as error:
            raised = error
            raise
        finally:
            calls.end(record, result, raised)
            self._sending, quiet = before[0], self._quiet
            self._quiet = before[1]
            if quiet:
                self._made(result)
            for name in reversed(names[1:]):
                end = self.nodes.function_end([])
                if name == _CPU and fetched is not None:
                    self.nodes.connect(
                        end, self.nodes.tensor(fetched, None, self.nodes.depth + 1, fetched.shape)
                    )
                elif isinstance(result, Tensor) and not name.startswith("ttnn."):
                    self._given(result, end)
            if operation.name == "ttnn.to_torch":
                self.nodes.function_start(_TO_FRAMEWORK, [], _INPUTS[_TO_FRAMEWORK])
                self.nodes.function_end([])
            self.nodes.function_end([])
            self._ended(starts[0])
        return result

    def _send(self, tensor: Tensor) -> None:
        """Opens the function that sends a tensor which is made on the host."""
        for name in (_DTYPE, _TO_DEVICE) if self._sending == "arange" else (_TO_DEVICE,):
            told = (
                [argument(tensor, "HostStorage"), mesh_text(tensor), _BLOCKING] if name == _TO_DEVICE else []
            )
            start = self.nodes.function_start(name, told, _INPUTS[name])
            self.nodes.take(start, [self.nodes.tensor(tensor, None, self.nodes.depth, tensor.shape)])
            if name == _DTYPE:
                end = self.nodes.function_end([])
                self.nodes.connect(end, self.nodes.tensor(tensor, None, self.nodes.depth + 1, tensor.shape))

    def _compute(self, operation: FastOperation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A new tensor that a program of the device fills; what is made on the way to it here is not the reference's."""
        after = self._begin(operation, args, kwargs)
        before, self._quiet = self._quiet, True
        result: Any = None
        raised: BaseException | None = None
        try:
            result = operation.compute(*args, **kwargs)
        except BaseException as error:
            raised = error
            raise
        finally:
            self._quiet = before
            self._made(result)
            after(result, raised)
        return result

    def _made(self, result: Any) -> None:
        """What came of a call in which nothing was heard."""
        made = self._account.live.get(_place(result)) if isinstance(result, Tensor) else None
        if made is not None:
            self._heard(made, result)

    def _given(self, tensor: Tensor, end: int, *, lifted: bool = False) -> None:
        """The node of a tensor that a function which has ended gives back."""
        self.nodes.connect(end, self._node(tensor, self.nodes.depth + 1, lifted=lifted))

    def _node(
        self,
        tensor: Tensor,
        level: int,
        *,
        view: bool = False,
        lifted: bool = False,
        shape: Iterable[int] | None = None,
        known: bool = True,
    ) -> int:
        """A node for a tensor; one that is not `known` may have a buffer from before the capture, which gets its node then."""
        device, place = tensor.device(), _place(tensor)
        if device is not None:
            self.devices.setdefault(device.id(), device)
        told = shape if shape is not None else lifted_shape(tensor.shape) if lifted else tensor.shape
        view = view or (tensor.tensor_id in self._views and not lifted)
        node = self.nodes.tensor(
            tensor, None if device is None else self._address(tensor), level, told, view=view
        )
        if device is None or view:
            return node
        if place not in self._buffers and not known:
            size = footprint(tensor.spec, device.arch().name, cores_of(device))
            self._buffers[place] = self.nodes.buffer(tensor.spec, size, device.id())
        if place in self._buffers:
            self.nodes.connect(self._buffers[place], node)
        return node

    def _heard(self, allocation: Allocation, tensor: Tensor | None) -> None:
        key = id(allocation)
        if tensor is None:
            if key in self._allocated:
                buffer, place = self._allocated.pop(key)
                self._buffers.pop(place, None)
                self._places.pop(place, None)
                self.nodes.deallocate(buffer)
            return
        device, spec, place = tensor.device(), tensor.spec, _place(tensor)
        assert device is not None
        if place in self._buffers or self._quiet:  # a view of what was there before the capture, or no result
            return
        if self._sending:
            self._send(tensor)
        else:
            layout = "ROW_MAJOR" if spec.layout is Layout.ROW_MAJOR else "TILE"
            shape = Shape(lifted_shape(spec.shape)) if self._lifted else spec.shape
            arguments = [repr(shape), f"DataType::{spec.dtype.name}", f"Layout::{layout}"]
            arguments += [mesh_text(tensor), repr(spec.memory_config)]
            self.nodes.function_start(_CREATE, arguments, len(arguments))
        buffer = self._buffers[place] = self.nodes.buffer(spec, allocation.size, device.id())
        self.nodes.allocate(buffer, spec, allocation.size, self._address(tensor, new=True))
        self._allocated[key] = buffer, place
        self._given(tensor, self.nodes.function_end([]), lifted=self._lifted)

    def _address(self, tensor: Tensor, *, new: bool = False) -> int:
        """Where a buffer lies, as the program may ask; one that is made while nothing is dispatched begins at 0."""
        place = _place(tensor)
        if place not in self._places:
            nowhere = new and self.mode is RunMode.NO_DISPATCH
            self._places[place] = 0 if nowhere else tensor.buffer_address()
        return self._places[place]


def _place(tensor: Tensor) -> int:
    """The number of the place that a tensor lies in, which those have in common that are one buffer under several shapes."""
    return id(getattr(tensor.storage, "place", tensor.storage))


def _stayed(operation: FastOperation, args: tuple[Any, ...], given: list[Tensor], result: Any) -> bool:
    """Whether an operation gave back its operand, perhaps under another shape, and changed nothing."""
    if not given or not isinstance(result, Tensor) or _place(result) != _place(given[0]):
        return False
    return operation.name == "ttnn.reshape" or programs.changes_nothing(
        operation.name, args or tuple(given), result
    )


def lifted_shape(shape: Iterable[int]) -> tuple[int, ...]:
    """A shape with at least four dimensions, of which the first ones are 1."""
    dims = tuple(shape)
    return (*(1,) * (4 - len(dims)), *dims)


def _target(args: tuple[Any, ...], kwargs: Mapping[str, Any], given: Tensor | None) -> MeshDevice | None:
    """The device that a call names, or that its tensor lies on."""
    named = next((each for each in (*args, *kwargs.values()) if isinstance(each, MeshDevice)), None)
    return named or (None if given is None else given.device())
