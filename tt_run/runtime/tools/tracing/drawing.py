"""A traced graph as a picture of graphviz: modules as boxes around what they call."""

from __future__ import annotations

import html
import importlib
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tt_run.runtime.errors import fatal
from tt_run.runtime.tools.tracing.graphs import flatten_graph, get_graph
from tt_run.runtime.tools.tracing.nodes import Node, TorchModule, TorchModuleInput

LEVEL_COLORS = ["#0000ff80", "#ee00ee80", "#ff000080", "#eeee0080", "#00ff0080", "#00eeee80"]
"""Of modules within modules."""

_GRAPH = {"ordering": "in", "rankdir": "TB"}
_NODE = {"style": "filled", "fontsize": "10", "height": "0.2", "margin": "0", "shape": "box"}
_EDGE = {"fontsize": "10"}
_FORMATS = (".svg", ".png", ".pdf")
_UNITS = ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms"))


def duration_to_string(duration: float) -> str:
    """Seconds in the unit that suits: `1.5 ms`."""
    for limit, factor, unit in _UNITS:
        if duration < limit:
            return f"{duration * factor:.1f} {unit}"
    return f"{duration:.1f} s"


def visualize_node(
    graphviz_graph: Any,
    graph: Any,
    node: Node,
    max_depth: int | None,
    visualize_node: Callable[..., None],
    visualize_edge: Callable[..., None],
    level: int,
    verbose: bool,
) -> None:
    """Add a node to a picture; a module above `max_depth` with what it calls."""
    attributes = graph.nodes[node]
    operation = attributes["operation"]
    label = operation.to_string(verbose=verbose)
    if attributes.get("duration") is not None:
        label += f"\nduration: {duration_to_string(attributes['duration'])}"
    color = LEVEL_COLORS[level % len(LEVEL_COLORS)] if isinstance(operation, TorchModule) else "#DCDCDC"
    if not isinstance(operation, TorchModule) or _is_closed(level, max_depth):
        graphviz_graph.node(node.name, label=_table(graph, node, label), fillcolor=color)
        return
    with graphviz_graph.subgraph(name=f"cluster_{node.name}") as box:
        box.attr(label=label, bgcolor=color)
        _draw(box, operation.graph, max_depth, visualize_node, visualize_edge, level + 1, verbose)


def visualize_edge(graphviz_graph: Any, graph: Any, edge: Any, max_depth: int | None, level: int) -> None:
    """Add an edge to a picture, between what is drawn of modules at its ends."""
    start, end, _, data = edge
    output, place = data["source_output_index"], data["sink_input_index"]
    label = f"{output} -> {place}"
    depth = level
    around = graph
    while isinstance(module := around.nodes[start]["operation"], TorchModule) and not _is_closed(
        depth, max_depth
    ):
        around, made = module.graph, module.outputs[output]
        start, output, depth = made.node, made.output_index, depth + 1
    depth = level
    while isinstance(module := graph.nodes[end]["operation"], TorchModule) and not _is_closed(
        depth, max_depth
    ):
        graph, end, place, depth = module.graph, module.inputs[place].node, 0, depth + 1
    enters = isinstance(graph.nodes[end]["operation"], TorchModuleInput)
    sink = end.name if enters else f"{end.name}:${place}"
    graphviz_graph.edge(f"{start.name}:#{output}", sink, label=label)


def visualize(
    output: Any,
    *,
    show_modules: bool = True,
    max_depth: int | None = None,
    file_name: Path | str | None = None,
    graph_attr: Mapping[str, str] | None = None,
    node_attr: Mapping[str, str] | None = None,
    edge_attr: Mapping[str, str] | None = None,
    visualize_node: Callable[..., None] = visualize_node,
    visualize_edge: Callable[..., None] = visualize_edge,
    verbose: bool = False,
) -> Any:
    """What `output` comes from as a `graphviz.Digraph`, rendered to `file_name` if given.

    `max_depth` closes modules that lie deeper; `show_modules=False` draws none. A file that cannot be drawn is a warning, since programs
    draw beside their work: None without the package graphviz. Raises RuntimeError without that package and a file, and for a depth
    below 1 or without modules; ValueError for a file that is no .svg, .png or .pdf.
    """
    if max_depth is not None and (max_depth < 1 or not show_modules):
        problem = (
            "must be greater than 0" if max_depth < 1 else "closes modules, and show_modules=False draws none"
        )
        raise RuntimeError(f"max_depth={max_depth} {problem}")
    path = None if file_name is None else Path(file_name)
    if path is not None and path.suffix not in _FORMATS:
        raise ValueError(f"file_name must have a .svg, .png or .pdf suffix, not {path.suffix}")
    graph = get_graph(output)
    graphviz = _graphviz(path)
    if graphviz is None:
        return None
    picture = graphviz.Digraph(
        engine="dot",
        graph_attr=graph_attr or _GRAPH,
        node_attr=node_attr or _NODE,
        edge_attr=edge_attr or _EDGE,
    )
    shown = graph if show_modules else flatten_graph(graph)
    _draw(picture, shown, max_depth, visualize_node, visualize_edge, 0, verbose)
    if path is not None and _is_drawable(path):
        picture.render(path.with_suffix(""), format=path.suffix[1:])
    return picture


def visualize_if_drawable(*values: Any, **options: Any) -> Any:
    """As `visualize`; where the program `dot` is missing, a warning and None."""
    return visualize(*values, **options) if _is_drawable(options.get("file_name")) else None


def _graphviz(path: Path | None) -> Any:
    """The package; None with a warning where it is missing and only a file is to be drawn."""
    try:
        return importlib.import_module("graphviz")
    except ImportError:
        if path is None:
            raise fatal("visualize draws a traced graph with graphviz", hint="pip install graphviz") from None
    warnings.warn(f"{path} is not drawn without graphviz; help: pip install graphviz", stacklevel=3)
    return None


def _is_drawable(path: Path | str | None) -> bool:
    """Whether graphviz's program is there; a warning where it is not."""
    if shutil.which("dot") is not None:
        return True
    what = "the traced graph" if path is None else path
    warnings.warn(f"{what} is not drawn: graphviz's program dot is not installed", stacklevel=3)
    return False


def _is_closed(level: int, max_depth: int | None) -> bool:
    return max_depth is not None and level >= max_depth - 1


def _draw(
    picture: Any,
    graph: Any,
    max_depth: int | None,
    visualize_node: Callable[..., None],
    visualize_edge: Callable[..., None],
    level: int,
    verbose: bool,
) -> None:
    for node in sorted(graph):
        visualize_node(
            picture, graph, node, max_depth, visualize_node, visualize_edge, level, verbose=verbose
        )
    for node in sorted(graph):
        for edge in graph.in_edges(node, data=True, keys=True):
            visualize_edge(picture, graph, edge, max_depth, level)


def _table(graph: Any, node: Node, label: str) -> str:
    """A row for what goes in, a row for what comes out; the ports are `$0`, `$1`, … and `#0`, `#1`, …"""
    edges = sorted(graph.in_edges(node, data=True), key=lambda edge: edge[2]["sink_input_index"])
    inputs = [_described(graph.nodes[start], data["source_output_index"]) for start, _, data in edges]
    outputs = [_described(graph.nodes[node], i) for i in range(len(graph.nodes[node]["shapes"]))]
    rows = [
        _row(sign, word, cells)
        for sign, word, cells in (("$", "Input", inputs), ("#", "Output", outputs))
        if cells
    ]
    title = f'<TD ROWSPAN="{max(len(rows), 1)}">{_text(label)}</TD>'
    first, *rest = rows or [""]
    body = "".join(f"<TR>{row}</TR>" for row in (title + first, *rest))
    return f'<<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="1" CELLPADDING="1">{body}</TABLE>>'


def _row(sign: str, word: str, cells: list[str]) -> str:
    return "".join(f'<TD PORT="{sign}{i}">{word} {i}<BR/>{cell}</TD>' for i, cell in enumerate(cells))


def _described(attributes: Mapping[str, Any], index: int) -> str:
    keys = ("shapes", "dtypes", "layouts", "memory_configs")
    values = [attributes[key][index] for key in keys if key in attributes]
    return "<BR/>".join(_text(str(value)) for value in values if value is not None)


def _text(text: str) -> str:
    return html.escape(text).replace("\n", "<BR/>")
