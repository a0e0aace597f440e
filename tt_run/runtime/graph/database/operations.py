"""Operations of a captured graph as a report tells them: time, arguments, tensors in and out, buffers afterwards, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tt_run.runtime.graph.database.buffers import Buffer, Live
from tt_run.runtime.graph.database.functions import (
    Function,
    Graph,
    input_tensors,
    moments,
    name_of,
    output_tensors,
    params,
    tensor_id,
)
from tt_run.runtime.graph.nodes import Node

Record = dict[str, Any]
_FREED = "ttnn::deallocate"
_NEVER_ENDED = "incomplete_operation"
_LEFT_BY_EXCEPTION = "aborted_operation"


@dataclass(slots=True)
class Operation:
    """One operation: numbers of its tensors, the nodes between its beginning and its end, the buffers that live when it has ended."""

    id: int
    name: str
    seconds: float = 0.0
    start: int | None = None
    """The number of the node in which it begins; None for a buffer that goes by itself."""
    end: int = 0
    arguments: list[tuple[str, str]] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    error: tuple[str, str] | None = None
    stack: str = ""


def operations(
    graph: Graph,
    records: Sequence[Record] = (),
    snapshots: Mapping[str, Sequence[Record]] | None = None,
    *,
    first: int = 1,
) -> Iterator[Operation]:
    """The operations in the order in which they ended, numbered from `first`.

    `records` are what the program's calls said, `snapshots` the buffers that the device told at the end of functions, by the node in
    which each began; without them buffers are those that the graph allocated and did not free.
    """
    live = Live(graph)
    number = first
    errors: dict[int, tuple[str, str]] = {}
    freed: list[int] = []
    last: Function | None = None
    for moment in moments(graph, records):
        node, function = moment.node, moment.function
        if function is not last:
            freed, last = [], function
        kind = node.get("node_type")
        if kind == "buffer_allocate":
            live.allocate(node)
        elif kind == "buffer_deallocate":
            tensor = live.free(node)
            freed += [] if tensor is None else [tensor]
            if not moment.inside:
                yield Operation(
                    number, _FREED, inputs=freed, nodes=[node], buffers=live.buffers(), end=node["counter"]
                )
                number, freed = number + 1, []
        elif kind == "error" and function is not None:
            errors.setdefault(id(function), (_text(node, "error_type"), _text(node, "error_message")))
        if function is None or not moment.ends:
            continue
        operation = _told(graph, function, number, freed)
        told = (snapshots or {}).get(str(function.start.get("counter")))
        operation.buffers = live.buffers() if told is None else [Buffer.told(each) for each in told]
        operation.error = _error(graph, function, errors.get(id(function)))
        yield operation
        number += 1


def _text(node: Node, key: str) -> str:
    return str(params(node).get(key, ""))


def _told(graph: Graph, function: Function, number: int, freed: Sequence[int]) -> Operation:
    record, end = function.record, function.end
    named = [(str(name), str(value)) for name, value in (record.get("arguments") or {}).items()]
    plain = [(f"arg_{place}", str(value)) for place, value in enumerate(function.start.get("arguments", []))]
    left = _outputs(graph, function)
    within = list(graph[function.first : function.last + 1])
    return Operation(
        number,
        function.name,
        (end or {}).get("duration_ns", 0) / 1e9,
        start=int(function.start.get("counter", function.first)),
        end=function.last,
        arguments=named or plain,
        inputs=_once(record.get("input_tensor_ids") or _inputs(graph, function, freed)),
        outputs=_once(record.get("output_tensor_ids") or [tensor_id(node) for node in left]),
        nodes=[*within, *(node for node in left if node["counter"] > function.last)],
        stack="\n".join(record.get("python_stack_trace") or ()),
    )


def _once(numbers: Sequence[Any]) -> list[int]:
    return list(dict.fromkeys(int(number) for number in numbers))


def _inputs(graph: Graph, function: Function, freed: Sequence[int]) -> list[int]:
    """The tensors that it takes; of one that was captured without, what the functions in it take and none of them makes."""
    own = [tensor_id(node) for node in input_tensors(graph, function)]
    if own:
        return own
    made: set[int] = set()
    found: list[int] = []
    for inner in function.inside:
        into = [tensor_id(node) for node in input_tensors(graph, inner)]
        found += into
        made |= {tensor_id(node) for node in output_tensors(graph, inner)} - set(into)
    return [number for number in (*found, *freed) if number not in made]


def _outputs(graph: Graph, function: Function) -> list[Node]:
    """The tensors that it gives; of one that was captured without, what the functions in it give and none of them takes."""
    own = output_tensors(graph, function)
    if own:
        return own
    made: set[int] = set()
    used: set[int] = set()
    found: list[Node] = []
    # What ended first gave its results first.
    for inner in sorted(function.inside, key=lambda each: each.last):
        into = {tensor_id(node) for node in input_tensors(graph, inner)}
        out = output_tensors(graph, inner)
        used |= into
        made |= {tensor_id(node) for node in out} - into
        found += out
    between = made & used
    return [node for node in found if tensor_id(node) not in between]


def _error(graph: Graph, function: Function, captured: tuple[str, str] | None) -> tuple[str, str] | None:
    """Kind and words of what went wrong: as the program's call saw it, as the capture did, or that it never ended."""
    raised = function.record.get("error")
    if raised:
        return str(raised.get("type", "exception")), str(raised.get("message", ""))
    for each in (function, *function.inside):
        if each.end is not None and params(each.end).get("aborted") == "true":
            reason = params(each.end).get("abort_reason") or params(each.end).get("error")
            words = f"Operation '{name_of(each.end)}' was aborted by an exception"
            return captured or (_LEFT_BY_EXCEPTION, str(reason or words))
    if captured is not None:
        return captured
    if function.end is None:
        return (
            _NEVER_ENDED,
            f"Operation '{function.name}' started but never completed (likely crashed)",
        )
    return None
