"""The functions of a captured graph, from where each began to where it ended, and which of them a report tells as operations.

A report tells the outermost functions. Those that only carry a tensor between program, host and device are not told, but what runs
inside of them is; nor are tensors that a program sends before its first operation, which are its weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tt_run.runtime.graph.nodes import Node

Graph = Sequence[Node]
_CARRIES = (
    "ttnn::convert_python_tensor_to_tt_tensor",
    "tt::tt_metal::detail::convert_tt_tensor_to_framework_tensor",
    "Tensor::deallocate",
    "Tensor::to_device",
    "Tensor::reshape",
    "tt::tt_metal::to_dtype",
)
_SENT = "ttnn.from_torch"


@dataclass(slots=True)
class Function:
    """A function, with everything between its beginning and its end; one that is told has `inside` the functions that ran in it."""

    name: str
    start: Node
    first: int
    told: bool
    end: Node | None = None
    last: int = 0
    inside: list[Function] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)
    """What the program's call said of it: arguments, tensors, line."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A node, the function that is told around it and whether that ends here, and whether any function is open."""

    node: Node
    function: Function | None
    inside: bool
    ends: bool = False


def params(node: Node) -> dict[str, Any]:
    """What a node says; captures have nothing to say of some."""
    return node.get("params") or {}


def name_of(node: Node) -> str:
    """The name of a function that begins or ends in a node."""
    return str(params(node).get("name", "unknown"))


def moments(graph: Graph, records: Sequence[dict[str, Any]] = ()) -> Iterator[Moment]:
    """The nodes in order; after the last, the functions that never ended, so that all that are told end once."""
    waiting: dict[str, list[dict[str, Any]]] = {}
    for record in reversed(records):
        waiting.setdefault(record["name"], []).append(record)
    open_: list[Function] = []
    told: Function | None = None
    computed = False
    for number, node in enumerate(graph):
        kind = node.get("node_type")
        if kind == "function_start":
            name = name_of(node)
            carries = name.startswith(_CARRIES) or (name == _SENT and not computed)
            computed = computed or (not carries and told is None and name != _SENT)
            function = Function(name, node, number, told=told is None and not carries)
            if waiting.get(name):
                function.record = waiting[name].pop()
            if told is not None:
                told.inside.append(function)
            elif function.told:
                told = function
            open_.append(function)
            yield Moment(node, told, True)
            continue
        if kind == "function_end" and open_:
            function = open_.pop()
            function.end, function.last = node, number
            yield Moment(node, told, True, ends=function is told)
            told = None if function is told else told
            continue
        yield Moment(node, told, bool(open_))
    if told is not None:
        told.last = len(graph) - 1
        yield Moment(told.start, told, True, ends=True)


def tensors_at(graph: Graph, numbers: Sequence[int]) -> list[Node]:
    """Of the nodes with these numbers, those that are tensors with a number of their own."""
    found = (graph[number] for number in numbers if number < len(graph))
    return [
        node
        for node in found
        if node.get("node_type") == "tensor" and params(node).get("tensor_id") is not None
    ]


def input_tensors(graph: Graph, function: Function) -> list[Node]:
    """The tensors that went into a function."""
    return tensors_at(graph, function.start.get("input_tensors", []))


def output_tensors(graph: Graph, function: Function) -> list[Node]:
    """The tensors that came out of it."""
    return tensors_at(graph, function.end.get("connections", [])) if function.end else []


def tensor_id(node: Node) -> int:
    """The number of a tensor."""
    return int(params(node)["tensor_id"])
