"""The calls of PyTorch as a graph: `ttnn.torch_tracer`.

A `TorchFunctionMode` sees the functions, `around_modules` the modules. As in the reference, a function counts where one of its operands
is traced: what was handed to a module, what came out of a traced call, or what one of the creation functions made.
`torch.from_numpy` and `torch.tensor` make tensors that are seen when they are first used. Source: reference library 0.81.1.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from tt_run.runtime.tensor.model_parameters.module_calls import Call, around_modules, leaves
from tt_run.runtime.tools.tracing import nodes
from tt_run.runtime.tools.tracing.places import NodeOutput, networkx
from tt_run.runtime.tools.tracing.values import (
    argument_names,
    exchanged,
    get_arg_name_value_pairs,
    get_input_tensors,
    is_traced,
    places_in,
)

_CREATION = """
    as_tensor zeros zeros_like ones ones_like arange range linspace logspace eye empty empty_like full full_like complex heaviside
    bernoulli multinomial normal poisson rand rand_like randint randint_like randn randn_like randperm
"""
CREATION_FUNCTIONS = frozenset(getattr(torch, name) for name in _CREATION.split())
"""Their results are inputs of the graph that tell the call."""

_numbers = itertools.count()
_open: list[Trace] = []


class TracedTorchTensor(torch.Tensor):
    """A tensor and the node that it comes from. Functions called without a trace give plain tensors."""

    TRACEDTENSOR = None
    graph: Any
    node: nodes.Node
    output_index: int

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls: type, tensor: torch.Tensor, *, alias: bool = False, **_place: Any) -> Any:
        """`alias`: gradients go on to `tensor`. A module registers no alias, so that a leaf made in a trace has to stay one."""
        with torch._C.DisableTorchFunction():
            if tensor.is_leaf and not alias:
                return torch.Tensor._make_subclass(cls, tensor, tensor.requires_grad)
            return tensor.as_subclass(cls)

    def __init__(
        self,
        tensor: torch.Tensor,
        *,
        graph: Any,
        node: nodes.Node,
        output_index: int,
        alias: bool = False,
    ) -> None:
        self.graph, self.node, self.output_index = graph, node, output_index

    @property
    def name(self) -> str:
        return self.node.name


class Trace:
    """A graph that grows by what is called; while a module is called, the graph within it."""

    def __init__(self) -> None:
        self._networkx = networkx()
        self._stack = [self._networkx.MultiDiGraph()]
        self.paused = 0
        """How many operations are under way, within which nothing is noted."""

    @property
    def graph(self) -> Any:
        return self._stack[-1]

    @contextmanager
    def within_module(self) -> Iterator[Any]:
        self._stack.append(self._networkx.MultiDiGraph())
        try:
            yield self.graph
        finally:
            self._stack.pop()

    def add(
        self, name: str, operation: Any, outputs: list[Any], inputs: list[NodeOutput], **attributes: Any
    ) -> nodes.Node:
        """A node, with what its inputs come from in the same graph."""
        number = next(_numbers)
        node = nodes.Node(f"{name}_{number}", number)
        for around in (place.graph for place in inputs):
            if around is not self.graph:  # from around the module that is called
                self.graph.add_nodes_from(around.nodes(data=True))
                self.graph.add_edges_from(around.edges(keys=True, data=True))
        shapes, dtypes = tuple(map(_shape, outputs)), tuple(tensor.dtype for tensor in outputs)
        self.graph.add_node(node, operation=operation, shapes=shapes, dtypes=dtypes, **attributes)
        for i, place in enumerate(inputs):
            self.graph.add_edge(place.node, node, source_output_index=place.output_index, sink_input_index=i)
        return node

    def given(self, value: Any) -> Any:
        """A tensor that comes from outside of the graph, as an input of it; anything else as it is."""
        if is_traced(value) or not isinstance(value, torch.Tensor):
            return value
        if isinstance(value, torch.nn.Parameter):
            node = self.add("torch_parameter", nodes.TorchParameter(value), [value], [], duration=None)
        else:
            node = self.add("torch_input", nodes.TorchTensor(value), [value], [], duration=None)
        return self._at(node, 0, value, alias=True)

    def function(self, function: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function, and note it."""
        if self.paused:
            return _timed(function, args, kwargs)[0]
        creates = function in CREATION_FUNCTIONS
        traced = bool(places_in([args, kwargs]))
        if not traced and not creates:
            return function(*args, **kwargs)
        if not traced:
            return self._created(function, args, kwargs, *_timed(function, args, kwargs))
        args, kwargs = exchanged((list(args), kwargs), self.given)
        result, duration = _timed(function, args, kwargs)
        outputs = [leaf for leaf in leaves(result) if isinstance(leaf, torch.Tensor)]
        if not outputs:
            return result
        pairs = get_arg_name_value_pairs(function, function_args=args, function_kwargs=kwargs)
        operation = nodes.TorchFunction(function, pairs)
        inputs = places_in([args, kwargs])
        node = self.add(function.__name__, operation, outputs, inputs, duration=duration)
        result = self.numbered(node, result)
        return self._created(function, args, kwargs, result, duration) if creates else result

    def _created(
        self, function: Call, args: Any, kwargs: dict[str, Any], result: Any, duration: float
    ) -> Any:
        pairs = get_arg_name_value_pairs(function, function_args=args, function_kwargs=kwargs)
        node = self.add("torch_input", nodes.TorchFunction(function, pairs), [result], [], duration=duration)
        return self._at(node, 0, result)

    def module(self, module: Any, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a module, and note what it calls in a graph of its own."""
        if self.paused:
            return call(*args, **kwargs)
        args, kwargs = exchanged((list(args), kwargs), self.given)
        named = (module, *args)
        names = argument_names(module.forward, named, kwargs)
        pairs = get_arg_name_value_pairs(module.forward, function_args=named, function_kwargs=kwargs)[1:]
        with self.within_module() as graph:
            own = [
                exchanged(value, self._entering(name)) for name, value in zip(names[1:], args, strict=False)
            ]
            own_kwargs = {name: exchanged(value, self._entering(name)) for name, value in kwargs.items()}
            entered = places_in([own, own_kwargs])
            result, duration = _timed(call, own, own_kwargs, plain=False)
            result = exchanged(result, self.given)
        outputs = get_input_tensors(result)
        operation = nodes.TorchModule(module, graph, _borders(entered), _borders(places_in(result)), pairs)
        inputs = places_in([args, kwargs])
        node = self.add(module.__ttnn_tracer_name__, operation, outputs, inputs, duration=duration)
        return self.numbered(node, result)

    def _entering(self, name: Any) -> Any:
        def enter(value: Any) -> Any:
            if not is_traced(value) or not isinstance(value, torch.Tensor):
                return value
            node = self.add("module_input", nodes.TorchModuleInput(name), [value], [])
            return self._at(node, 0, value, alias=True)

        return enter

    def numbered(self, node: nodes.Node, result: Any) -> Any:
        """A result whose tensors of PyTorch know that they come from a node."""
        count = itertools.count()
        return exchanged(
            result,
            lambda leaf: self._at(node, next(count), leaf) if isinstance(leaf, torch.Tensor) else leaf,
        )

    def _at(
        self, node: nodes.Node, index: int, tensor: torch.Tensor, alias: bool = False
    ) -> TracedTorchTensor:
        return TracedTorchTensor(tensor, graph=self.graph, node=node, output_index=index, alias=alias)


class _Functions(TorchFunctionMode):
    """Hands what PyTorch calls to a trace."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self._trace = trace

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._trace.function(func, args, kwargs or {})


_leave = ExitStack()


def enable_tracing() -> None:
    """Note calls from now on. Raises RuntimeError while they are noted, and without the package networkx."""
    if _open:
        raise RuntimeError("Cannot nest trace calls")
    trace = Trace()
    _leave.enter_context(around_modules(trace.module))
    _leave.enter_context(_Functions(trace))
    _open.append(trace)


def disable_tracing() -> None:
    """Note no more; nothing happens where nothing is noted."""
    _open.clear()
    _leave.close()


def is_tracing_enabled() -> bool:
    """Whether calls are noted."""
    return bool(_open)


def current() -> Trace | None:
    """The trace that is under way."""
    return _open[-1] if _open else None


@contextmanager
def trace() -> Iterator[None]:
    """Note the calls of the block; its results know their graph (`get_graph`)."""
    enable_tracing()
    try:
        yield
    finally:
        disable_tracing()


def _timed(function: Call, args: Any, kwargs: dict[str, Any], plain: bool = True) -> tuple[Any, float]:
    """A call's result and how long it took; `plain`: of functions within it nothing is noted."""
    with ExitStack() as stack:
        if plain:
            stack.enter_context(torch._C.DisableTorchFunctionSubclass())
        begun = time.perf_counter()
        result = function(*args, **kwargs)
        return result, time.perf_counter() - begun


def _shape(tensor: Any) -> Any:
    return tuple(tensor.shape) if isinstance(tensor, torch.Tensor) else tensor.shape


def _borders(places: list[NodeOutput]) -> list[nodes.ModuleIOTensor]:
    return [nodes.ModuleIOTensor(place.graph, place.node, place.output_index) for place in places]
