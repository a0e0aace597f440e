"""Operations and PyTorch's calls in one graph, and its picture."""

from __future__ import annotations

import importlib
import shutil
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")
pytest.importorskip("networkx", reason="needs networkx")

import tt_run.shims.ttnn as ttnn  # noqa: E402
from tt_run.runtime.ops.declaration.dispatch import FastOperation  # noqa: E402

tracer = ttnn.tracer


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ttnn.CONFIG, "enable_fast_runtime_mode", False)


def test_operations_stand_between_pytorchs_calls(slow: None, mesh: ttnn.MeshDevice) -> None:
    host = ttnn.from_torch(torch.ones(32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
    with tracer.trace():
        assert tracer.ENABLE_TRACER and ttnn.torch_tracer.is_tracing_enabled()
        with pytest.raises(ValueError, match="Tracing is already enabled"):
            tracer.enable_tracing()
        other = ttnn.from_torch(torch.relu(torch.zeros(32, 32)), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
        there = ttnn.to_device(host, mesh)
        total = ttnn.multiply(ttnn.add(there, 1.0), there)
        values = ttnn.to_torch(ttnn.from_device(total), mesh_composer=ttnn.ConcatMeshToTensor(mesh, 0)) + 1
    assert not tracer.ENABLE_TRACER and not tracer.is_tracing_enabled() and FastOperation.crossing is None
    assert float(values[0, 0]) == 3.0
    graph = tracer.get_graph((values, other))
    names = [node.name.rpartition("_")[0] for node in graph]
    assert names == [
        "torch_input",
        "relu",
        "ttnn.from_torch",
        "ttnn_input",
        "ttnn.to_device",
        "ttnn.add",
        "ttnn.multiply",
        "ttnn.from_device",
        "ttnn.to_torch",
        "add",
    ]
    multiply = list(graph)[6]
    attributes = graph.nodes[multiply]
    assert isinstance(attributes["operation"], tracer.TTNNOperation)
    assert attributes["layouts"] == (ttnn.TILE_LAYOUT,) and attributes["memory_configs"] == (
        total.memory_config(),
    )
    given = sorted(
        (data["sink_input_index"], start.name.rpartition("_")[0])
        for start, _, data in graph.in_edges(multiply, data=True)
    )
    assert given == [(0, "ttnn.add"), (1, "ttnn.to_device")]


def test_an_input_of_one_trace_is_an_input_of_the_next(slow: None) -> None:
    host = ttnn.from_torch(torch.ones(32, 32), dtype=ttnn.bfloat16)
    for _ in range(2):
        with tracer.trace():
            result = ttnn.to_layout(host, ttnn.TILE_LAYOUT)
        names = [node.name.rpartition("_")[0] for node in tracer.get_graph(result)]
        assert names == ["ttnn_input", "ttnn.to_layout"]


def test_tensors_tell_their_graph_and_node(slow: None, mesh: ttnn.MeshDevice) -> None:
    plain = ttnn.from_torch(torch.ones(32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
    with tracer.trace():
        first = ttnn.from_torch(torch.ones(32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
        there = ttnn.to_device(first, mesh)
        written = ttnn.add_(there, 1.0)
        left, right = ttnn.chunk(ttnn.relu(written), 2, 1)
        values = ttnn.to_torch(ttnn.from_device(right), mesh_composer=ttnn.ConcatMeshToTensor(mesh, 0))
    assert [node.name.rpartition("_")[0] for node in values.graph] == [
        *("torch_input", "ttnn.from_torch", "ttnn.to_device", "ttnn.add_", "ttnn.relu", "ttnn.chunk"),
        *("ttnn.from_device", "ttnn.to_torch"),
    ]
    assert isinstance(values, tracer.TracedTorchTensor) and values.node in first.graph
    assert left.node == right.node and (left.output_index, right.output_index) == (0, 1)
    assert written.node.name.startswith("ttnn.add_") and written.graph is values.graph
    assert not hasattr(plain, "graph") and not hasattr(plain, "node")


class _Picture:
    """What is drawn, in the words of `graphviz.Digraph`."""

    def __init__(self, **options: Any) -> None:
        self.nodes: dict[str, str] = {}
        self.edges: list[tuple[str, str]] = []
        self.boxes: list[str] = []
        self.rendered: tuple[str, str] | None = None

    def node(self, name: str, label: str, **options: str) -> None:
        self.nodes[name] = label

    def edge(self, start: str, end: str, **options: str) -> None:
        self.edges.append((start, end))

    def subgraph(self, name: str) -> _Picture:
        return self

    def attr(self, label: str, **options: str) -> None:
        self.boxes.append(label)

    def render(self, path: Any, format: str) -> None:
        self.rendered = (str(path), format)

    def __enter__(self) -> _Picture:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def test_a_picture_has_modules_around_what_they_call(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module
    monkeypatch.setattr(
        importlib,
        "import_module",
        lambda name: SimpleNamespace(Digraph=_Picture) if name == "graphviz" else real(name),
    )
    found: dict[str, str] = {"dot": "/usr/bin/dot"}
    monkeypatch.setattr(shutil, "which", found.get)
    model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False)), torch.nn.ReLU())
    with ttnn.torch_tracer.trace():
        output = model(torch.ones(1, 2))
    whole = ttnn.torch_tracer.visualize(output, file_name="model.svg")
    assert len(whole.boxes) == 4 and whole.rendered == ("model", "svg")
    assert {start.partition(":")[0] for start, _ in whole.edges} <= set(whole.nodes)
    assert {end.partition(":")[0] for _, end in whole.edges} <= set(whole.nodes)
    assert any(
        "torch.nn.functional.linear<BR/>" in label or "torch.linear" in label
        for label in whole.nodes.values()
    )
    closed = ttnn.torch_tracer.visualize(output, max_depth=2)
    assert len(closed.boxes) == 1 and len(closed.nodes) == 4
    assert not ttnn.torch_tracer.visualize(output, show_modules=False).boxes
    with pytest.raises(RuntimeError, match="max_depth=0"):
        ttnn.torch_tracer.visualize(output, max_depth=0)
    with pytest.raises(ValueError, match="suffix"):
        ttnn.torch_tracer.visualize(output, file_name="model.txt")
    assert tracer.visualize(output).nodes == whole.nodes
    found.clear()
    with pytest.warns(UserWarning, match="dot is not installed"):
        assert tracer.visualize(output) is None
    with pytest.warns(UserWarning, match=r"model\.svg is not drawn: graphviz's program dot is not installed"):
        assert ttnn.torch_tracer.visualize(output, file_name="model.svg").rendered is None


def test_a_program_that_draws_beside_its_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def without(name: str) -> Any:
        if name == "graphviz":
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(importlib, "import_module", without)
    with ttnn.torch_tracer.trace():
        output = torch.zeros(2) + 1
    with pytest.warns(UserWarning, match="pip install graphviz"):
        assert ttnn.torch_tracer.visualize(output, file_name="model.svg") is None
    with pytest.raises(RuntimeError, match="pip install graphviz"):
        ttnn.torch_tracer.visualize(output)
