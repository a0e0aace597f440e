"""Whole graphs of a trace: of results, and without the borders of modules."""

from __future__ import annotations

from typing import Any

from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.model_parameters.module_calls import leaves
from tt_run.runtime.tools.tracing.nodes import Node, TorchModule, TorchModuleInput
from tt_run.runtime.tools.tracing.places import networkx, place_of

_Source = tuple[Node, int]


def get_graph(value: Any, flatten: bool = False) -> Any:
    """The graph that a traced result, or several, come from; a graph is given back as it is.

    `flatten`: what modules called stands for them. What stands beside traced tensors does not count. Raises RuntimeError for other
    values, ValueError for empty ones.
    """
    nx = networkx()
    if isinstance(value, nx.MultiDiGraph):
        return value
    others = [leaf for leaf in leaves(value) if leaf is not None]
    found = [place.graph for place in map(place_of, others) if place is not None]
    if others and not found:
        raise fatal(
            f"Unexpected type {type(others[0])}",
            hint="give what was computed within `with ttnn.tracer.trace():` or `with ttnn.torch_tracer.trace():`",
        )
    if not found:
        raise ValueError("there is no tensor whose graph could be given; the value holds none")
    graph = nx.compose_all(found)
    return flatten_graph(graph) if flatten else graph


def flatten_graph(graph: Any) -> Any:
    """A new graph without modules and their inputs: what they called, from tensor to tensor."""
    made = networkx().MultiDiGraph()
    _flatten(graph, made, {}, {})
    return made


def _flatten(
    graph: Any, made: Any, entering: dict[Node, _Source], modules: dict[Node, list[_Source]]
) -> None:
    """`entering`: what the inputs of this module come from. Adds to `modules` what the outputs of modules come from."""

    def source(node: Node, index: int) -> _Source:
        if node in entering:
            return entering[node]
        return modules[node][index] if node in modules else (node, index)

    for node in networkx().topological_sort(graph):
        operation = graph.nodes[node]["operation"]
        sources = {
            data["sink_input_index"]: source(start, data["source_output_index"])
            for start, _, data in graph.in_edges(node, data=True)
        }
        if isinstance(operation, TorchModule):
            entered = {given.node: sources[i] for i, given in enumerate(operation.inputs)}
            _flatten(operation.graph, made, entered, modules)
            modules[node] = [
                entered[out.node]
                if out.node in entered
                else modules[out.node][out.output_index]
                if out.node in modules
                else (out.node, out.output_index)
                for out in operation.outputs
            ]
        elif not isinstance(operation, TorchModuleInput):
            made.add_node(node, **graph.nodes[node])
            for i, (start, index) in sorted(sources.items()):
                made.add_edge(start, node, source_output_index=index, sink_input_index=i)
