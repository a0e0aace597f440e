"""The calls of operations in the graph of PyTorch's: `ttnn.tracer`, for programs with `enable_fast_runtime_mode = False`.

What comes out of an operation is the tensor that it gives without a trace; the graph knows it as long as it lives. The arguments at a node
have the names of the operation's parameters, of which the reference leaves out most. Source: reference library 0.81.1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from tt_run.runtime import events
from tt_run.runtime.native.refusals import noted
from tt_run.runtime.ops.declaration.dispatch import FastOperation
from tt_run.runtime.settings import CONFIG
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tools.tracing import nodes
from tt_run.runtime.tools.tracing.places import Place, note

ENABLE_TRACER = False
"""Whether calls of operations are noted, also as `ttnn.tracer.ENABLE_TRACER`."""

_leave: list[Callable[[], None]] = []
_under_way: list[FastOperation] = []


def is_tracing_enabled() -> bool:
    """Whether calls of operations are noted."""
    return bool(_leave)


def enable_tracing() -> None:
    """Note calls of PyTorch and of operations from now on. Raises ValueError in the fast mode, and while they are noted."""
    if CONFIG.enable_fast_runtime_mode:
        help_ = "help: ttnn.CONFIG.enable_fast_runtime_mode = False; ttnn.torch_tracer.trace() and ttnn.graph need it not"
        raise noted(ValueError("Tracing is not supported in fast runtime mode."), help_)
    if _leave:
        raise ValueError("Tracing is already enabled.")
    from tt_run.runtime.tools.tracing import torch_calls

    torch_calls.enable_tracing()
    _leave.append(events.precede(_around))
    _tell(True)


def disable_tracing() -> None:
    """Note no more; nothing happens where nothing is noted."""
    if not _leave:
        return
    from tt_run.runtime.tools.tracing import torch_calls

    _leave.pop()()
    _under_way.clear()
    torch_calls.disable_tracing()
    _tell(False)


def _tell(enabled: bool) -> None:
    """The shim keeps what it was asked for once; this value changes."""
    global ENABLE_TRACER
    ENABLE_TRACER = enabled
    for name in ("ttnn.tracer", "tt_run.shims.ttnn.tracer"):
        if name in sys.modules:
            sys.modules[name].ENABLE_TRACER = enabled  # type: ignore[attr-defined]


@contextmanager
def trace() -> Iterator[None]:
    """Note the calls of the block; `get_graph` finds the graph of its results."""
    enable_tracing()
    try:
        yield
    finally:
        disable_tracing()


def codegen(output: object) -> NoReturn:
    """Raise NotImplementedError: a graph is not written as a program."""
    raise NotImplementedError(
        "ttnn.tracer.codegen is not emulated; ttnn.tracer.get_graph(output) gives the nodes with their functions and arguments"
    )


def _around(begun: events.Begun) -> events.After | None:
    """An operation's node, once it has its result; what it calls itself is no part of the graph."""
    from tt_run.runtime.tools.tracing import torch_calls
    from tt_run.runtime.tools.tracing.values import exchanged, get_arg_name_value_pairs, get_input_tensors, leaves

    operation, trace = begun.subject, torch_calls.current()
    if not isinstance(operation, FastOperation) or trace is None:
        return None
    if not _under_way:
        given = exchanged((list(begun.args), dict(begun.kwargs)), lambda leaf: _given(trace, leaf))
        pairs = get_arg_name_value_pairs(operation, function_args=given[0], function_kwargs=given[1])
        inputs = get_input_tensors(given)
    _under_way.append(operation)
    trace.paused += 1

    def after(result: Any, error: BaseException | None) -> None:
        if _under_way:
            _under_way.pop()
        trace.paused -= 1
        if error is not None or _under_way:
            return
        outputs = [leaf for leaf in leaves(result) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
        name = operation.python_fully_qualified_name
        called = nodes.TTNNOperation(name, operation, pairs)
        node = trace.add(name, called, outputs, inputs, **_where(outputs))
        for i, tensor in enumerate(outputs):
            note(tensor, Place(trace.graph, node, i))

    return after


def _given(trace: Any, leaf: Any) -> Any:
    from tt_run.runtime.tools.tracing.values import is_traced

    if not isinstance(leaf, Tensor) or is_traced(leaf):
        return trace.given(leaf)
    node = trace.add("ttnn_input", nodes.TTNNTensor(), [leaf], [], **_where([leaf]))
    note(leaf, Place(trace.graph, node, 0))
    return leaf


def _where(tensors: list[Any]) -> dict[str, Any]:
    places = tuple(
        tensor.memory_config() if isinstance(tensor, Tensor) and tensor.device() is not None else None
        for tensor in tensors
    )
    return {"layouts": tuple(tensor.layout for tensor in tensors), "memory_configs": places}
