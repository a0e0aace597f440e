"""Which node of a trace a tensor comes from, and the package of its graph."""

from __future__ import annotations

import importlib
import weakref
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.errors import fatal
from tt_run.runtime.tools.tracing.nodes import Node

TAG_TRACEDTENSOR = "TRACEDTENSOR"
"""The attribute that traced tensors of PyTorch have; others are known by `note`."""


@dataclass(frozen=True)
class NodeOutput:
    """An output of a node."""

    graph: Any
    node: Node
    output_index: int


_noted: dict[int, tuple[weakref.ref[Any], NodeOutput]] = {}


def note(tensor: Any, place: NodeOutput) -> None:
    """Remember where a tensor comes from for as long as it lives."""
    key = id(tensor)

    def end(gone: weakref.ref[Any]) -> None:
        if key in _noted and _noted[key][0] is gone:
            del _noted[key]

    _noted[key] = (weakref.ref(tensor, end), place)


def forget(tensor: Any) -> None:
    """Remember it no longer."""
    _noted.pop(id(tensor), None)


def place_of(value: Any) -> NodeOutput | None:
    """Where a value comes from; None of what is no traced tensor."""
    found = _noted.get(id(value))
    if found is not None and found[0]() is value:
        return found[1]
    if TAG_TRACEDTENSOR in getattr(type(value), "__dict__", ()):
        return NodeOutput(value.graph, value.node, value.output_index)
    return None


def networkx() -> Any:
    """The package of graphs, which is looked for when it is used. Raises RuntimeError that says how it comes."""
    try:
        return importlib.import_module("networkx")
    except ImportError:
        raise fatal("a trace is a graph of networkx", hint="pip install 'tt-run[graph]'") from None
