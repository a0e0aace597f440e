"""What is read from a captured graph: the call trace, results, peaks, durations; as text and as a picture."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_run.runtime.enums import BufferType
from tt_run.runtime.errors import fatal, throw
from tt_run.runtime.graph.kernel_memory import KINDS, KernelMemory
from tt_run.runtime.graph.nodes import Node
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.tensor.spec.tensor_spec import Shape

Graph = Sequence[Node]


@native("ttnn._ttnn.graph.TensorInfo")
@dataclass(frozen=True)
class TensorInfo(metaclass=Native):
    """Shape, bytes and kind of memory of a result."""

    shape: Shape
    size: int
    type: BufferType

    def __repr__(self) -> str:
        return f"TensorInfo(shape={self.shape}, size={self.size}, type={self.type.name})"


@dataclass(frozen=True)
class PeakMemoryUsagePerCore:
    """The largest use of one core's L1 in bytes, of each kind and of all at once.

    Circular buffers, dataflow buffers and scratchpads belong to kernels; a capture here knows them of operations by element alone.
    """

    peak_cb: int
    peak_l1: int
    peak_dataflow_buffer: int
    peak_scratchpad: int
    peak_total: int

    def __str__(self) -> str:
        rows = {
            "CB": self.peak_cb,
            "L1": self.peak_l1,
            "DFB": self.peak_dataflow_buffer,
            "Scratchpad": self.peak_scratchpad,
            "Total": self.peak_total,
        }
        return "\n".join(
            ["Peak Memory Usage Per Core:"]
            + [f"  {name + ':':<11} {size} bytes" for name, size in rows.items()]
        )


def extract_calltrace(trace: Graph) -> list[str]:
    """The names of all functions, in the order in which they began."""
    return [node["params"]["name"] for node in trace if node["node_type"] == "function_start"]


def extract_output_tensors(trace: Graph) -> set[int]:
    """The nodes of the tensors that the last function gave back, by number. Raises RuntimeError when none gave any."""
    return {int(node["counter"]) for node in _outputs(trace)}


def extract_output_info(trace: Graph) -> list[TensorInfo]:
    """What the last function gave back in buffers of the graph, with their bytes. Raises RuntimeError when none gave anything."""
    buffers: dict[int, dict[str, Any]] = {}
    for node in trace:
        if node["node_type"] == "buffer":
            buffers |= dict.fromkeys(node["connections"], node["params"])
    return [
        TensorInfo(
            Shape([int(length) for length in re.findall(r"\d+", n["params"]["shape"])]),
            int(buffers[n["counter"]]["size"]),
            _buffer_type(n["params"].get("buffer_type", BufferType.DRAM.value)),
        )
        for n in _outputs(trace)
        if n["counter"] in buffers
    ]


def _buffer_type(number: str | int) -> BufferType:
    return next(kind for kind in BufferType if kind.value == int(number))


def _outputs(trace: Graph) -> list[Node]:
    for node in reversed(trace):
        if node["node_type"] == "function_end":
            found = [trace[c] for c in node["connections"] if trace[c]["node_type"] == "tensor"]
            if found:
                return found
    raise throw(
        "No function_end node with tensor connections found in the trace",
        hint="capture an operation that returns a tensor, and end the capture after it",
    )


_CREATED = "create_device_tensor"


def count_intermediate_and_output_tensors(trace: Graph) -> tuple[int, int]:
    """How many tensors functions of the name `create_device_tensor` made beside results, and how many the last function gave back.

    Reference library 0.81.1 asks for that very name, which its own captures write with their namespaces: it counts none in them.
    """
    last = {node["counter"] for node in _outputs(trace)}
    made = {
        c
        for node in trace
        if node["node_type"] == "function_end" and node["params"]["name"] == _CREATED
        for c in node["connections"][:1]
    }
    return len(made - last), len(last)


def extract_peak_L1_memory_usage(trace: Graph) -> int:
    """The largest number of bytes of L1 that buffers of the capture, and what a program's kernels set aside, held at once on a device."""
    peak = 0
    for tensors, _, kernels in _l1(trace):
        peak = max(peak, tensors + kernels.total)
    return peak


def extract_resource_usage_per_core(
    trace: Graph, interleaved_storage_cores: int | None = None
) -> PeakMemoryUsagePerCore:
    """The largest use of one core's L1; the second argument is no longer used."""
    most = dict.fromkeys((*KINDS.values(), "l1", "total"), 0)
    for _, bank, kernels in _l1(trace):
        now = {kind: kernels.on(kind) for kind in KINDS.values()}
        now |= {"l1": bank, "total": bank + kernels.on(*KINDS.values())}
        most = {name: max(size, now[name]) for name, size in most.items()}
    return PeakMemoryUsagePerCore(**{f"peak_{name}": size for name, size in most.items()})


def _l1(trace: Graph) -> Iterator[tuple[int, int, KernelMemory]]:
    """After each allocation or its end in L1: bytes of tensors, of them in one bank, and what kernels set aside."""
    banks = {
        node["connections"][0]: int(node["params"]["max_size_per_bank"])
        for node in trace
        if node["node_type"] == "buffer_allocate"
    }
    tensors = bank = 0
    kernels = KernelMemory()
    for node in trace:
        if kernels.take(node):
            yield tensors, bank, kernels
        elif node["node_type"] in ("buffer_allocate", "buffer_deallocate"):
            buffer = trace[node["connections"][0]]
            if buffer["params"]["type"] == "L1":
                sign = 1 if node["node_type"] == "buffer_allocate" else -1
                tensors += sign * int(buffer["params"]["size"])
                bank += sign * banks.get(buffer["counter"], 0)
                yield tensors, bank, kernels


def extract_operation_durations(graph: Graph) -> dict[str, float]:
    """Seconds by name of function, of its last call, on the clock of the emulation."""
    return {
        node["params"]["name"]: node["duration_ns"] / 1e9
        for node in graph
        if node["node_type"] == "function_end" and "duration_ns" in node
    }


def extract_total_duration_from_graph(graph: Graph) -> float:
    """Seconds from the beginning of the capture to its end."""
    return next((n["duration_ns"] / 1e9 for n in reversed(graph) if n["node_type"] == "capture_end"), 0.0)


_TITLES = {
    "capture_start": "Capture Start",
    "capture_end": "Capture End",
    "buffer": "Add Device Buffer",
    "buffer_allocate": "Allocate Device Buffer",
    "buffer_deallocate": "Deallocate Device Buffer",
    "function_start": "Function Start: {name}",
    "function_end": "Function End:   {name}",
    "tensor": "Add Tensor: {tensor_id}",
    "sub_device_manager": "Sub-Device Manager: {sub_device_manager_id}",
    "program_execution": "Program Execution: sub-device {sub_device_id}",
    "circular_buffer_allocate": "Allocate Circular Buffer",
    "dataflow_buffer_allocate": "Allocate Dataflow Buffer",
    "scratchpad_allocate": "Allocate Kernel Scratchpad",
    "circular_buffer_deallocate_all": "Deallocate All Program-Scope L1",
}
_INDENT, _WIDTH = 4, 50


def pretty_format(captured_graph: Graph) -> str:
    """One line for each node, functions indented. Raises ValueError for a node of a kind that is not known."""
    lines, depth = [], 0
    for node in captured_graph:
        kind = node["node_type"]
        if kind not in _TITLES:
            raise ValueError(f"Unknown node type: {kind}")
        depth -= kind == "function_end"
        text = _TITLES[kind].format(**(node["params"] or {}))
        lines.append(" " * (_INDENT * depth) + text.ljust(_WIDTH - _INDENT * depth) + "\n")
        depth += kind == "function_start"
    return "".join(lines)


def pretty_print(captured_graph: Graph) -> None:
    """Print `pretty_format`."""
    print(pretty_format(captured_graph))


def visualize_node(graphviz_graph: Any, node: Node) -> None:
    """Add a node to a picture."""
    params = node["params"] or {}
    label = "\n".join(
        [node["node_type"], *(str(params[key]) for key in ("name", "tensor_id") if key in params)]
    )
    graphviz_graph.node(f"node_{node['counter']}", label, fillcolor="#DCDCDC")


def visualize_edge(graphviz_graph: Any, source_node_id: int, sink_node_id: int) -> None:
    """Add an edge to a picture."""
    graphviz_graph.edge(f"node_{source_node_id}", f"node_{sink_node_id}")


def visualize(
    captured_graph: Graph,
    *,
    file_name: Path | str | None = None,
    visualize_node: Callable[..., None] = visualize_node,
    visualize_edge: Callable[..., None] = visualize_edge,
) -> Any:
    """The graph as a `graphviz.Digraph`, rendered to `file_name` if given. Raises RuntimeError without the package graphviz."""
    try:
        graphviz = importlib.import_module("graphviz")
    except ImportError:
        raise fatal("ttnn.graph.visualize draws with graphviz", hint="pip install graphviz") from None
    picture = graphviz.Digraph(
        engine="dot",
        graph_attr={"ordering": "in", "rankdir": "TB"},
        node_attr={"style": "filled", "fontsize": "10", "shape": "box"},
        edge_attr={"fontsize": "10"},
    )
    for node in captured_graph:
        visualize_node(picture, node)
    for node in captured_graph:
        for sink in node["connections"]:
            visualize_edge(picture, node["counter"], sink)
    if file_name is not None:
        path = Path(file_name)
        if path.suffix not in (".svg", ".png", ".pdf"):
            raise RuntimeError(f"file_name must have a .svg, .png or .pdf suffix, not {path.suffix}")
        picture.render(path.with_suffix(""), format=path.suffix[1:], cleanup=True)
    return picture
