"""The borders to torch: values, element types, models (runs where torch is installed)."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tt_run.runtime.enums import DataType, Layout  # noqa: E402
from tt_run.runtime.mesh.device import MeshDevice  # noqa: E402
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch  # noqa: E402
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor  # noqa: E402
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh  # noqa: E402
from tt_run.runtime.tensor.model_parameters.preprocessing import preprocess_model_parameters  # noqa: E402
from tt_run.runtime.tensor.tensor import Tensor  # noqa: E402
from tt_run.runtime.values import shapes  # noqa: E402


def made(value: Any, **options: Any) -> Tensor:
    tensor = from_torch(value, **options)
    assert tensor is not None
    return tensor


@pytest.mark.parametrize(("source", "dtype", "back"), [
    ("float32", DataType.FLOAT32, "float32"), ("bfloat16", DataType.BFLOAT16, "bfloat16"), ("int32", DataType.INT32, "int32"),
    ("int64", DataType.UINT32, "uint32"), ("int16", DataType.UINT16, "uint16"), ("uint8", DataType.UINT8, "uint8"),
    ("bool", DataType.UINT8, "uint8"),
])  # fmt: skip
def test_element_types_there_and_back(source: str, dtype: DataType, back: str) -> None:
    value = (torch.arange(6).reshape(2, 3) % 2).to(getattr(torch, source))
    tensor = made(value)
    assert tensor.dtype is dtype
    found = to_torch(tensor)
    assert found.dtype == getattr(torch, back)
    assert found.tolist() == value.to(found.dtype).tolist()


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int32"])
def test_what_has_no_values_has_its_element_type(kind: str) -> None:
    with shapes.only():
        found = to_torch(made(torch.zeros(2, 3, dtype=getattr(torch, kind))))
    assert (found.dtype, tuple(found.shape)) == (getattr(torch, kind), (2, 3))


def test_bfloat16_rounding_is_torchs() -> None:
    value = torch.from_numpy(np.random.default_rng(0).standard_normal(100_000).astype(np.float32)) * 1e3
    found = to_torch(made(value, dtype=DataType.BFLOAT16))
    assert torch.equal(found, value.to(torch.bfloat16))


@pytest.mark.parametrize("rows", [1, 300])
def test_nan_keeps_its_bits(rows: int) -> None:
    """However the values lie in memory: gathered from ranks they lie otherwise than on one."""
    bits = np.resize(np.array([0x7FC0, 0xFFC0, 0xFFFF, 0x7F81, 0xFF80, 0x8000], np.uint16), (rows, 64))
    value = torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16)
    found = to_torch(made(value)).view(torch.int16).numpy().view(np.uint16)
    assert np.array_equal(found, bits)


@pytest.mark.parametrize("source", ["float32", "bfloat16"])
def test_views_and_gradients_are_taken(source: str) -> None:
    value = torch.arange(24, dtype=getattr(torch, source)).reshape(2, 3, 4).transpose(0, 2)[1:]
    assert torch.equal(to_torch(made(value.requires_grad_())), value.detach())


def test_what_was_read_and_what_was_given_stay_apart() -> None:
    value = torch.zeros(4)
    tensor = made(value)
    value += 1
    read = to_torch(tensor)
    read += 2
    assert to_torch(tensor).tolist() == [0, 0, 0, 0]


def test_over_a_mesh(mesh: MeshDevice) -> None:
    value = torch.randn(8, 3).to(torch.bfloat16)
    tensor = made(value, mesh_mapper=ShardTensorToMesh(mesh, 0), device=mesh, layout=Layout.TILE)
    assert torch.equal(to_torch(tensor, mesh_composer=ConcatMeshToTensor(mesh, 0)), value)
    assert torch.equal(tensor.to_torch(ConcatMeshToTensor(mesh, 0)), value)


def test_rank_and_dtype_on_request() -> None:
    tensor = made(torch.ones(1, 1, 2, 3, dtype=torch.bfloat16))
    assert to_torch(tensor, torch.float64, torch_rank=2).shape == (2, 3)
    assert to_torch(tensor, torch.float64).dtype == torch.float64
    with pytest.raises(RuntimeError, match="ttnn: Unable to squeeze to desired rank!"):
        to_torch(tensor, torch_rank=1)


def test_unsupported_element_types() -> None:
    for name in ("float64", "complex64"):
        with pytest.raises(RuntimeError, match="ndarray_import failed"):
            made(torch.zeros(1, dtype=getattr(torch, name)))


class Block(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm = torch.nn.Linear(4, 8, bias=False), torch.nn.LayerNorm(8)
        self.gain = torch.nn.Parameter(torch.ones(3))
        self.relu = torch.nn.ReLU()


class Model(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(5, 4)
        self.layers = torch.nn.ModuleList([Block(), Block()])
        self.head = torch.nn.Sequential(torch.nn.Linear(8, 2), torch.nn.ReLU())


def test_models(mesh: MeshDevice, logged: io.StringIO) -> None:
    model = Model()
    p = preprocess_model_parameters(initialize_model=lambda: model, device=mesh)
    assert not model.training
    assert "eval mode" in logged.getvalue()
    assert set(p) == {"embedding", "layers", "head"}
    assert set(p.layers[1]) == {"up", "norm", "gain"}
    assert list(p.head) == [0]
    one = p.head[0].weight
    expected = model.head[0].weight.detach().T.to(torch.bfloat16)
    assert torch.equal(to_torch(one, mesh_composer=ConcatMeshToTensor(mesh, 0))[:8], expected)
    assert (one.layout, p.head[0].bias.shape, p.layers[0].norm.weight.shape) == (Layout.TILE, [1, 2], [1, 8])
    assert p.embedding.weight.layout is Layout.ROW_MAJOR
    assert p.layers[0].gain.dtype is DataType.BFLOAT16


def test_kept_torch_tensors() -> None:
    p = preprocess_model_parameters(
        initialize_model=lambda: Model().eval(), convert_to_ttnn=lambda module, name: False
    )
    assert isinstance(p.head[0].weight, torch.Tensor)
    assert tuple(p.head[0].weight.shape) == (8, 2)
    assert repr(p.head[0]).startswith(
        "{\n  weight: torch.Tensor(shape=torch.Size([8, 2]), dtype=torch.float32)"
    )
