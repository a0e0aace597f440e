"""Parameters of models of plain objects (reference library 0.81.1); torch models in test_torch."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.borders import arrays
from tt_run.runtime.tensor.borders.defaults import distribute
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh, ShardTensorToMesh
from tt_run.runtime.tensor.model_parameters.containers import (
    ParameterDict,
    ParameterList,
    make_parameter_dict,
    repr_parameters,
)
from tt_run.runtime.tensor.model_parameters.preprocessing import (
    default_preprocessor,
    preprocess_linear_bias,
    preprocess_linear_weight,
    preprocess_model,
    preprocess_model_parameters,
    preprocess_remaining_children_and_parameters,
)


class Linear:
    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        self.weight = np.arange(inputs * outputs, dtype=np.float32).reshape(outputs, inputs)
        if bias:
            self.bias = np.arange(outputs, dtype=np.float32)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x @ self.weight.T


class OwnLinear(Linear):
    pass


class LayerNorm:
    def __init__(self, size: int) -> None:
        self.weight, self.bias = np.ones(size, np.float32), np.zeros(size, np.float32)


class Embedding:
    def __init__(self) -> None:
        self.weight = np.ones((10, 4), np.float64)


class Empty:
    activation = "gelu"


class Block:
    def __init__(self) -> None:
        self.up, self.norm, self.nothing = OwnLinear(4, 8, bias=False), LayerNorm(4), Empty()
        self.scale = np.ones(3, np.int64)
        self.above = self  # a reference back up


class Model:
    def __init__(self) -> None:
        self.embedding, self.layers, self.out = Embedding(), [Block(), Block()], Linear(8, 2)
        self.name, self.size = "model", 3
        self.function = len


def converted(**options: Any) -> Any:
    return preprocess_model_parameters(initialize_model=Model, **options)


def test_layers_by_kind() -> None:
    p = converted()
    weight, bias = p.out.weight, p.out.bias
    assert np.array_equal(weight.to_numpy(), Linear(8, 2).weight.T)
    assert (weight.dtype, weight.layout, weight.shape) == (DataType.BFLOAT16, Layout.TILE, [8, 2])
    assert (bias.shape, bias.layout) == ([1, 2], Layout.TILE)
    assert (p.embedding.weight.shape, p.embedding.weight.layout) == ([10, 4], Layout.ROW_MAJOR)
    block = p["layers"][1]
    assert list(block.up) == ["weight"]
    assert (block.norm.weight.shape, block.norm.bias.layout) == ([1, 4], Layout.TILE)
    assert (block.scale.dtype, block.scale.layout) == (DataType.UINT32, Layout.ROW_MAJOR)


def test_lists_and_empty_children() -> None:
    p = converted()
    assert isinstance(p.layers, ParameterList)
    assert 1 in p.layers
    assert 2 not in p.layers
    assert set(p) == {"embedding", "layers", "out"}
    assert set(p.layers[0]) == {"up", "norm", "scale"}


def test_text() -> None:
    assert repr(preprocess_model_parameters(initialize_model=lambda: Linear(8, 2))) == (
        "{\n"
        "  weight: ttnn.Tensor(shape=Shape([8, 2]), layout=Layout.TILE, dtype=DataType.BFLOAT16),\n"
        "  bias: ttnn.Tensor(shape=Shape([1, 2]), layout=Layout.TILE, dtype=DataType.BFLOAT16)\n"
        "}"
    )
    assert (
        repr(ParameterDict({"a": ParameterList([1, ParameterDict()])})) == "{\n  a: [\n    1,\n    {}\n  ]\n}"
    )


def test_the_form_of_one_layer() -> None:
    written = io.StringIO()
    repr_parameters(written, default_preprocessor(Linear(8, 2, bias=False), "out", None), "  ")
    assert written.getvalue() == (
        "{\n    weight: ttnn.Tensor(shape=Shape([8, 2]), layout=Layout.TILE, dtype=DataType.BFLOAT16)\n  }"
    )
    assert default_preprocessor(Model(), "", None) == {}


def test_the_rest_of_a_module() -> None:
    given: dict[Any, Any] = {"norm": "by the program"}
    found = preprocess_remaining_children_and_parameters(
        Block(),
        "block",
        lambda module, name: True,
        None,
        given,
        None,
        already_preprocessed_children={"norm", "above"},
    )
    assert found is given
    assert set(found) == {"norm", "up", "nothing", "scale"}
    assert (found["up"].weight.shape, found["scale"].dtype) == ([4, 8], DataType.UINT32)


def test_a_mapper_of_a_layer(mesh: MeshDevice) -> None:
    layer, mapper = Linear(4, 16), ShardTensorToMesh(mesh, dim=-1)
    weight = preprocess_linear_weight(layer.weight, dtype=DataType.BFLOAT16, weights_mesh_mapper=mapper)
    bias = preprocess_linear_bias(layer.bias, dtype=DataType.BFLOAT16, weights_mesh_mapper=mapper)
    assert (weight.shape, bias.shape) == ([4, 2], [1, 2])


def test_attributes_of_parameter_dicts() -> None:
    p = make_parameter_dict({"a": {"b": 1}})
    assert p.a.b == 1
    p.a.c = 2
    assert p["a"]["c"] == 2
    del p.a.b
    with pytest.raises(AttributeError, match="no parameter or module 'b'; there are: c"):
        _ = p.a.b


def test_kept_arrays() -> None:
    p = converted(convert_to_ttnn=lambda module, name: not name.startswith("layers.1"))
    assert isinstance(p.layers[1].up.weight, np.ndarray)
    assert p.layers[1].up.weight.shape == (4, 8)
    assert p.layers[0].up.weight.shape == [4, 8]


def test_names_reach_the_functions() -> None:
    seen: list[str] = []
    converted(convert_to_ttnn=lambda module, name: seen.append(name) or True, prefix="root")
    assert {"root.embedding", "root.layers.0.up", "root.out"} <= set(seen)


def test_custom_preprocessor_decides_first() -> None:
    def custom(module: Any, name: str, convert_to_ttnn: Any) -> dict[str, Any] | None:
        return {"mine": {"deep": name}} if isinstance(module, Block) else None

    p = converted(custom_preprocessor=custom)
    assert p.layers[1].mine.deep == "layers.1"
    assert p.out.weight.shape == [8, 2]


@pytest.mark.parametrize(("custom", "text"), [
    (lambda module: {}, "at least two parameters: model and name"),
    (lambda module, name, device: {}, "Unsupported parameter: device"),
])  # fmt: skip
def test_custom_preprocessors_of_another_form(custom: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        converted(custom_preprocessor=custom)


def test_more_in_a_layer_than_is_known() -> None:
    layer = Linear(4, 4)
    layer.scale = np.ones(1, np.float32)  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match=r"Not all children or parameters were converted.*scale"):
        preprocess_model_parameters(initialize_model=lambda: layer)


def test_element_types_without_rule() -> None:
    class Half:
        weight = None

        def __init__(self) -> None:
            self.weight = np.ones(2, np.float16)

    with pytest.raises(RuntimeError, match="Parameter 'weight' has element type float16"):
        preprocess_model_parameters(initialize_model=Half)


def test_without_a_model() -> None:
    with pytest.raises(RuntimeError, match='"initialize_model" has to be provided'):
        preprocess_model_parameters()
    with pytest.raises(TypeError, match="run_model reads the calls"):
        preprocess_model(initialize_model=Model, run_model=lambda model: None)
    assert set(preprocess_model(initialize_model=Model)) == {"embedding", "layers", "out"}


def test_device_and_distribute(monkeypatch: pytest.MonkeyPatch, mesh: MeshDevice) -> None:
    module = ModuleType("ttnn")
    module.from_torch = arrays.from_torch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ttnn", module)
    with distribute(ShardTensorToMesh(mesh, dim=-1)):
        layer = preprocess_model_parameters(initialize_model=lambda: Linear(4, 16), device=mesh)
    assert (layer.weight.shape, layer.bias.shape, layer.weight.device()) == ([4, 2], [1, 2], mesh)
    whole = layer.weight.to_numpy(ConcatMeshToTensor(mesh, 1))
    assert np.array_equal(whole, Linear(4, 16).weight.T)
    with distribute(ReplicateTensorToMesh(mesh)):
        p = converted(device=mesh)
    assert p.layers[0].up.weight.device() is mesh
    assert converted(device=mesh).out.weight.device() is mesh
