"""`ttnn.distribute` on a stand-in for module ttnn (reference library 0.81.1)."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.borders import arrays
from tt_run.runtime.tensor.borders.defaults import current_from_torch, distribute
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh, ShardTensorToMesh


@pytest.fixture
def ttnn(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    module = ModuleType("ttnn")
    module.from_torch, module.to_torch = arrays.from_torch, arrays.to_numpy  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ttnn", module)
    yield module


def test_a_mapper_becomes_the_default_of_from_torch(ttnn: ModuleType, mesh: MeshDevice) -> None:
    before = ttnn.from_torch
    with distribute(ShardTensorToMesh(mesh, dim=0)):
        assert isinstance(ttnn.from_torch, functools.partial)
        assert list(ttnn.from_torch.keywords) == ["mesh_mapper"]
        assert current_from_torch() is ttnn.from_torch
        tensor = ttnn.from_torch(np.zeros(16, np.float32))
        explicit = ttnn.from_torch(np.zeros(16, np.float32), mesh_mapper=ReplicateTensorToMesh(mesh))
    assert (tensor.shape, explicit.shape) == ([2], [16])
    assert ttnn.from_torch is before


def test_a_composer_becomes_the_default_of_to_torch(ttnn: ModuleType, mesh: MeshDevice) -> None:
    tensor = ttnn.from_torch(np.arange(8, dtype=np.float32), mesh_mapper=ShardTensorToMesh(mesh, 0))
    with distribute(ConcatMeshToTensor(mesh, dim=0)):
        assert ttnn.to_torch(tensor).tolist() == list(range(8))


def test_blocks_nest_and_restore_after_errors(ttnn: ModuleType, mesh: MeshDevice) -> None:
    before = ttnn.from_torch
    with pytest.raises(ZeroDivisionError), distribute(ShardTensorToMesh(mesh, 0)):
        with distribute(ReplicateTensorToMesh(mesh)):
            assert ttnn.from_torch(np.zeros(8, np.float32)).shape == [8]
        assert ttnn.from_torch(np.zeros(8, np.float32)).shape == [1]
        raise ZeroDivisionError
    assert ttnn.from_torch is before


def test_other_arguments_are_refused_on_entry(ttnn: ModuleType) -> None:
    context = distribute(3)  # type: ignore[arg-type]
    with (
        pytest.raises(
            ValueError, match="Argument must be an instance of either TensorToMesh or MeshToTensor"
        ),
        context,
    ):
        pass


def test_without_the_module_there_is_nothing_to_replace(
    monkeypatch: pytest.MonkeyPatch, mesh: MeshDevice
) -> None:
    monkeypatch.delitem(sys.modules, "ttnn", raising=False)
    assert current_from_torch() is arrays.from_torch
    with pytest.raises(RuntimeError, match="not imported"), distribute(ShardTensorToMesh(mesh, 0)):
        pass
