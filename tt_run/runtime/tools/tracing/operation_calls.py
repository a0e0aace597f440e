"""What operations are called with while they are traced. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_run.runtime import events
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.tensor.model_parameters.module_calls import leaves
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tools.numbering import get_python_operation_id
from tt_run.runtime.tools.tracing import nodes, torch_calls
from tt_run.runtime.tools.tracing.places import NodeOutput, forget, note, place_of
from tt_run.runtime.tools.tracing.torch_calls import Trace
from tt_run.runtime.tools.tracing.values import (
    exchanged,
    get_arg_name_value_pairs,
    is_traced,
    places_in,
)


def listen() -> list[Callable[[], None]]:
    """Hand the calls of operations to the trace that is under way; returns what ends it."""
    torch_calls.enable_tracing()
    before = FastOperation.crossing
    FastOperation.crossing, FastOperation.parted = _crossing(before), _follow
    # They stay: a tensor tells where it comes from also when the trace has ended. Without any trace no tensor has such attributes.
    for name in ("graph", "node", "output_index"):
        setattr(Tensor, name, property(_member(name)))
    return [
        events.precede(_around),
        lambda: setattr(FastOperation, "crossing", before),
        lambda: setattr(FastOperation, "parted", None),
        torch_calls.disable_tracing,
    ]


def _member(name: str) -> Callable[[Tensor], Any]:
    """What a traced tensor tells of its place; others have no such attribute."""

    def member(tensor: Tensor) -> Any:
        place = place_of(tensor)
        if place is None:
            raise AttributeError(f"'ttnn._ttnn.tensor.Tensor' object has no attribute {name!r}")
        return getattr(place, name)

    return member


def _follow(written: Tensor, made: Tensor) -> None:
    """What an operation gives for the tensor that it wrote into comes from the same node."""
    place = place_of(written)
    if place is not None:
        note(made, place)


class _Call:
    """A call that the program makes, from its arguments to its node; what it calls itself is no part of the graph."""

    def __init__(self, trace: Trace, operation: FastOperation, args: Any, kwargs: Any) -> None:
        self._trace = trace
        self._name = operation.python_fully_qualified_name
        self._number = get_python_operation_id()
        known = {id(leaf) for leaf in leaves((args, kwargs)) if is_traced(leaf)}
        args, kwargs = exchanged((list(args), dict(kwargs)), lambda leaf: _given(trace, leaf))
        pairs = get_arg_name_value_pairs(operation, function_args=args, function_kwargs=kwargs)
        self._called = nodes.TTNNOperation(self._name, operation, pairs)
        self._inputs = places_in((args, kwargs))
        for leaf in leaves((args, kwargs)):
            if isinstance(leaf, Tensor) and id(leaf) not in known:
                forget(leaf)  # what is given again is an input again, also of the next trace
        trace.paused += 1

    def end(self, result: Any) -> Any:
        """Add the node of a call that has not failed. Gives the result, whose tensors of PyTorch know where they come from."""
        outputs = [leaf for leaf in leaves(result) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
        where = {**_where(outputs), "operation_id": self._number}
        node = self._trace.add(self._name, self._called, outputs, self._inputs, **where)
        for i, tensor in enumerate(outputs):
            if isinstance(tensor, Tensor):
                note(tensor, NodeOutput(self._trace.graph, node, i))
        return self._trace.numbered(node, result)


def _around(begun: events.Begun) -> events.After | None:
    trace = torch_calls.current()
    if not isinstance(begun.subject, FastOperation) or trace is None or trace.paused:
        return None
    call = _Call(trace, begun.subject, begun.args, begun.kwargs)

    def after(result: Any, error: BaseException | None) -> None:
        trace.paused -= 1
        if error is None:
            call.end(result)

    return after


def _crossing(before: Any) -> Callable[[FastOperation, tuple[Any, ...], dict[str, Any]], Any]:
    """What calls an operation of which no event tells, such as `from_torch`; `before` did so else."""

    def cross(operation: FastOperation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        trace = torch_calls.current()
        call = None if trace is None or trace.paused else _Call(trace, operation, args, kwargs)
        try:
            result = operation.compute(*args, **kwargs) if before is None else before(operation, args, kwargs)
        finally:
            if call is not None and trace is not None:
                trace.paused -= 1
        return result if call is None else call.end(result)

    return cross


def _given(trace: Trace, leaf: Any) -> Any:
    if not isinstance(leaf, Tensor) or is_traced(leaf):
        return trace.given(leaf)
    node = trace.add("ttnn_input", nodes.TTNNTensor(), [leaf], [], **_where([leaf]))
    note(leaf, NodeOutput(trace.graph, node, 0))
    return leaf


def _where(tensors: list[Any]) -> dict[str, Any]:
    places = tuple(
        tensor.memory_config() if isinstance(tensor, Tensor) and tensor.device() is not None else None
        for tensor in tensors
    )
    return {"layouts": tuple(tensor.layout for tensor in tensors), "memory_configs": places}
