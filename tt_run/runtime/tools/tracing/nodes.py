"""What stands at the nodes of a traced graph, in the words of the reference: inputs, parameters, functions, modules and operations.

Each node of the `networkx.MultiDiGraph` is a `Node`; its attributes are `operation` (one of the classes below), `shapes`, `dtypes`,
and `duration` in seconds where something ran (None of what was given). An edge has `source_output_index` and `sink_input_index`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_PUBLIC_HOMES = (
    ("torch.nn.modules", "torch.nn"),
    ("torch._tensor", "torch.Tensor"),
    ("torch._C.TensorBase", "torch.Tensor"),
    ("torch._C._nn", "torch.nn.functional"),
    ("torch._C", "torch"),
)
"""Where a program finds what PyTorch keeps in modules of its own."""

_LINE = 50  # characters of arguments, after which a label goes on in the next line


@dataclass(frozen=True)
class Node:
    """A node by its name; nodes sort in the order in which they were traced."""

    name: str
    unique_id: int

    def __lt__(self, other: Node) -> bool:
        return self.unique_id < other.unique_id


@dataclass(frozen=True)
class PositionalArgumentName:
    """Stands for the name of an argument of a function that tells no names: its place."""

    index: int

    def __repr__(self) -> str:
        return str(self.index)


@dataclass(frozen=True)
class InputTensorIndex:
    """Stands for a tensor among the arguments: the number of the edge that brings it."""

    index: int

    def __repr__(self) -> str:
        return f"${self.index}"


Pairs = Sequence[tuple[Any, Any]]


class _Shown:
    """What is shown by its text."""

    def to_string(self, verbose: bool = False) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.to_string()


@dataclass(repr=False)
class TorchTensor(_Shown):
    """A tensor that was there before, or that PyTorch made unseen."""

    tensor: Any

    def to_string(self, verbose: bool = False) -> str:
        return "torch.Tensor"


@dataclass(repr=False)
class TorchParameter(_Shown):
    """A parameter of a module; its name in the model is in the second line."""

    parameter: Any

    def to_string(self, verbose: bool = False) -> str:
        return _lines("torch.nn.Parameter", getattr(self.parameter, "__ttnn_tracer_name__", ""))


@dataclass(repr=False)
class TorchFunction(_Shown):
    """A call of a function or of a method of a tensor; `arg_name_value_pairs` leaves out what equals its default."""

    function: Any
    arg_name_value_pairs: Pairs

    def to_string(self, verbose: bool = False) -> str:
        name = _home(self.function)
        return name + _arguments(name, self.arg_name_value_pairs) if verbose else name


@dataclass(repr=False)
class TorchModule(_Shown):
    """A call of a module; what it called in turn is in `graph`, between its `inputs` and `outputs`."""

    module: Any
    graph: Any
    inputs: list[ModuleIOTensor]
    outputs: list[ModuleIOTensor]
    arg_name_value_pairs: Pairs

    def to_string(self, verbose: bool = False) -> str:
        kind = type(self.module)
        name = f"{kind.__module__}.{kind.__name__}"
        shown = name + _arguments(name, self.arg_name_value_pairs) if verbose else name
        return _lines(shown, self.module.__ttnn_tracer_name__)


@dataclass(repr=False)
class TorchModuleInput(_Shown):
    """An argument of the module whose graph it is in."""

    name: Any

    def to_string(self, verbose: bool = False) -> str:
        return str(self.name)


@dataclass(repr=False)
class TTNNTensor(_Shown):
    """A tensor of `ttnn` that was there before."""

    def to_string(self, verbose: bool = False) -> str:
        return "ttnn.Tensor"


@dataclass(repr=False)
class TTNNOperation(_Shown):
    """A call of an operation."""

    pretty_name: str
    operation: Any
    arg_name_value_pairs: Pairs

    def to_string(self, verbose: bool = False) -> str:
        return self.pretty_name


@dataclass(frozen=True)
class ModuleIOTensor:
    """A tensor that goes into or comes out of a module: which output of which node of the module's graph."""

    graph: Any
    node: Node
    output_index: int

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.graph.nodes[self.node]["shapes"][self.output_index]
        return shape


def _home(function: Any) -> str:
    owner = getattr(function, "__objclass__", None)
    module = (
        getattr(function, "__module__", None) if owner is None else f"{owner.__module__}.{owner.__name__}"
    )
    name = f"{module}.{function.__name__}"
    for own, public in _PUBLIC_HOMES:
        name = name.replace(own, public)
    return name


def _lines(first: str, second: str) -> str:
    return f"{first}\n{second}" if second else first


def _arguments(name: str, pairs: Pairs) -> str:
    """`(…)` in lines of about fifty characters, the first of which begins with `name`."""
    text, length = "(", len(name) + 1
    if length > _LINE:
        text, length = "(\n", 0
    for i, (key, value) in enumerate(pairs):
        shown = f"{value}" if isinstance(key, PositionalArgumentName) else f"{key}={value}"
        text, length = text + shown, length + len(shown)
        if i < len(pairs) - 1:
            text, length = (f"{text}, ", length) if length < _LINE else (f"{text},\n", 0)
    return f"{text})"
