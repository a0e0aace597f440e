"""A captured graph with one vertex for each function down to a level, and edges from what makes a tensor to what takes it.

Source: what reference library 0.81.1 makes of the same JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.graph.nodes import Node

Vertex = dict[str, Any]


def extract_levelized_graph(trace: Sequence[Node], max_level: int = 1) -> list[Vertex]:
    """A vertex for each function that is at most `max_level` deep, 1 being what the program called, in the order of their beginnings.

    Tensors that go into the outermost functions themselves, or come from them, are vertices before. `internals` are the functions that
    one calls itself; edges are numbers of vertices.
    """
    starts = [
        node
        for node in trace
        if node["node_type"] == "function_start" and node["stacking_level"] <= max_level
    ]
    outermost = [node for node in trace if node["node_type"] == "tensor" and node["stacking_level"] == 1]
    if max_level < 1:
        outermost = []
    vertices = {node["counter"]: _vertex(number, node) for number, node in enumerate([*outermost, *starts])}
    makers = _makers(trace, starts, vertices)
    for node in outermost:
        tensor = vertices[node["counter"]]
        tensor["in_edges"] = [maker["counter"] for maker in [makers.get(node["counter"])] if maker]
        makers[node["counter"]] = tensor
    _nest(trace, vertices)
    for node in starts:
        taker = vertices[node["counter"]]
        for tensor in node["input_tensors"]:
            maker = makers.get(tensor)
            if maker is None or maker is taker:
                continue
            taker["in_edges"].append(maker["counter"])
            if taker["counter"] not in maker["out_edges"]:
                maker["out_edges"].append(taker["counter"])
            if not maker["output_info"]:
                # The reference finds the argument by its shape, which may be that of another one.
                tensors = [text for text in node["arguments"] if text.startswith("Tensor(")]
                maker["output_info"] = [text for text in tensors if maker["output_shape"][0] in text][:1]
    return list(vertices.values())


def _vertex(number: int, node: Node) -> Vertex:
    is_tensor = node["node_type"] == "tensor"
    return {
        "arguments": list(node["arguments"]),
        "counter": number,
        "in_edges": [],
        "internals": [],
        "name": f"tensor[{node['params']['tensor_id']}]" if is_tensor else node["params"]["name"],
        "out_edges": [],
        "output_info": [],
        "output_shape": [node["params"]["shape"]] if is_tensor else [],
        "stacking_level": node["stacking_level"],
    }


def _makers(trace: Sequence[Node], starts: Sequence[Node], vertices: dict[int, Vertex]) -> dict[int, Vertex]:
    """The outermost function that gave back each tensor, by the tensor's number; notes the shape that each gave back."""
    makers: dict[int, Vertex] = {}
    for node in starts:
        vertex, end = vertices[node["counter"]], _end_of(trace, node)
        given = [trace[c] for c in end["connections"] if trace[c]["node_type"] == "tensor"] if end else []
        vertex["output_shape"] = [tensor["params"]["shape"] for tensor in given[:1]]
        for tensor in given:
            makers.setdefault(tensor["counter"], vertex)
    return makers


def _end_of(trace: Sequence[Node], start: Node) -> Node | None:
    level = start["stacking_level"]
    return next(
        (
            node
            for node in trace[start["counter"] :]
            if node["node_type"] == "function_end" and node["stacking_level"] == level
        ),
        None,
    )


def _nest(trace: Sequence[Node], vertices: dict[int, Vertex]) -> None:
    open_ones: list[Vertex] = []
    for node in trace:
        vertex = vertices.get(node["counter"])
        if vertex is None or node["node_type"] == "tensor":
            continue
        while open_ones and open_ones[-1]["stacking_level"] >= vertex["stacking_level"]:
            open_ones.pop()
        if open_ones:
            open_ones[-1]["internals"].append(vertex["counter"])
        open_ones.append(vertex)
