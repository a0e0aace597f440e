"""The graph of PyTorch's calls: what the reference's tracer gives for the same programs."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")
pytest.importorskip("networkx", reason="needs networkx")

import tt_run.shims.ttnn as ttnn  # noqa: E402
from tt_run.runtime.tools.tracing import places  # noqa: E402

tracer = ttnn.torch_tracer
nn = torch.nn


class Branches(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 4, 1)
        self.layers = nn.ModuleList([nn.Sequential(nn.ReLU(), nn.Conv2d(4, 4, 1, bias=False))])
        self.scale = nn.Parameter(torch.ones(2, 1, 1))

    def forward(self, x: Any, *, weight: float = 1.0) -> dict[str, Any]:
        y = self.layers[0](self.a(x))
        y += self.a(x)
        first, second = torch.chunk(y, 2, dim=1)
        return {"sum": first * self.scale + torch.zeros(2, 1, 1), "rest": (second, y.shape)}


def kinds(graph: Any) -> list[str]:
    """Nodes in their order, without their numbers."""
    return [
        f"{node.name.rpartition('_')[0]}:{type(graph.nodes[node]['operation']).__name__}" for node in graph
    ]


def edges(graph: Any) -> set[tuple[str, str, int, int]]:
    return {
        (
            a.name.rpartition("_")[0],
            b.name.rpartition("_")[0],
            data["source_output_index"],
            data["sink_input_index"],
        )
        for a, b, data in graph.edges(data=True)
    }


@pytest.fixture
def traced() -> tuple[Any, Any]:
    model, image = Branches().eval(), torch.rand(1, 3, 4, 4)
    with tracer.trace():
        output = model(image, weight=2.0)
    return output, tracer.get_graph(output)


def test_modules_functions_and_inputs_are_nodes_in_their_order(traced: tuple[Any, Any]) -> None:
    output, graph = traced
    assert kinds(graph) == ["torch_input:TorchTensor", ":TorchModule"]
    (given, model) = graph
    attributes = graph.nodes[model]
    assert (
        attributes["shapes"] == ((1, 2, 4, 4), (1, 2, 4, 4)) and attributes["dtypes"] == (torch.float32,) * 2
    )
    assert attributes["duration"] > 0 and graph.nodes[given]["duration"] is None
    assert repr(attributes["operation"].arg_name_value_pairs) == "[('x', $0), ('weight', 2.0)]"
    inner = attributes["operation"].graph
    assert kinds(inner) == [
        "module_input:TorchModuleInput",
        "a:TorchModule",
        "layers.0:TorchModule",
        "a:TorchModule",
        "add_:TorchFunction",
        "chunk:TorchFunction",
        "torch_parameter:TorchParameter",
        "mul:TorchFunction",
        "torch_input:TorchFunction",
        "add:TorchFunction",
    ]
    assert ("chunk", "mul", 0, 0) in edges(inner) and ("torch_parameter", "mul", 0, 1) in edges(inner)
    first, second = attributes["operation"].outputs
    assert (first.name.rpartition("_")[0], second.name.rpartition("_")[0]) == ("add", "chunk")
    assert (second.output_index, second.shape) == (1, (1, 2, 4, 4))
    assert output["rest"][0].output_index == 1 and output["rest"][1] == (1, 4, 4, 4)


def test_functions_have_the_names_that_programs_call_them_by(traced: tuple[Any, Any]) -> None:
    _, graph = traced
    flat = tracer.get_graph(traced[0], flatten=True)
    shown = [flat.nodes[node]["operation"].to_string() for node in flat]
    assert {
        "torch.conv2d",
        "torch.Tensor.add_",
        "torch.chunk",
        "torch.zeros",
        "torch.nn.functional.relu",
    } <= set(shown)
    assert {"torch.nn.Parameter\nlayers.0.1.weight", "torch.nn.Parameter\na.bias"} <= set(shown)
    assert {"TorchModule", "TorchModuleInput"}.isdisjoint(kind.partition(":")[2] for kind in kinds(flat))
    assert ("torch_input", "conv2d", 0, 0) in edges(flat) and ("conv2d", "relu", 0, 0) in edges(flat)
    (_, model) = graph
    verbose = graph.nodes[model]["operation"].to_string(verbose=True)
    assert verbose.endswith("test_torch_calls.Branches(\nx=$0, weight=2.0)")
    pool = tracer.TorchFunction(
        nn.functional.max_pool2d,
        [(tracer.PositionalArgumentName(0), tracer.InputTensorIndex(0)), ("stride", 2)],
    )
    assert pool.to_string(verbose=True).endswith("($0, stride=2)")


def test_values_and_gradients_are_those_without_a_trace() -> None:
    model, image = Branches(), torch.rand(1, 3, 4, 4, requires_grad=True)
    plain = model(image)["sum"]
    plain.sum().backward()
    expected = (image.grad.clone(), model.a.weight.grad.clone())
    image.grad = model.a.weight.grad = None
    with tracer.trace():
        made = nn.Linear(2, 2)
        output = model(image)["sum"]
        output.sum().backward()
    assert isinstance(made.weight, nn.Parameter) and len(list(made.parameters())) == 2
    assert torch.equal(output, plain)
    assert torch.equal(image.grad, expected[0]) and torch.equal(model.a.weight.grad, expected[1])
    assert type(output + 1) is torch.Tensor


def test_a_trace_ends_with_its_block_whatever_happens() -> None:
    call = nn.Module.__call__
    with pytest.raises(KeyError), tracer.trace():
        assert tracer.is_tracing_enabled()
        with pytest.raises(RuntimeError, match="Cannot nest trace calls"):
            tracer.enable_tracing()
        raise KeyError
    assert nn.Module.__call__ is call and not tracer.is_tracing_enabled()
    tracer.disable_tracing()
    assert not hasattr(torch.ones(2) + 1, "graph")


def test_what_was_not_traced_has_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match=r"Unexpected type <class 'torch\.Tensor'>"):
        tracer.get_graph(torch.ones(2))
    with pytest.raises(ValueError, match="holds none"):
        tracer.get_graph([])

    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(places.importlib, "import_module", absent)
    with pytest.raises(RuntimeError, match=r"tt-run\[graph\]"):
        tracer.enable_tracing()
    assert not tracer.is_tracing_enabled()
