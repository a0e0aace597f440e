"""Small tensors for the tests of this folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh
from tt_run.runtime.tensor.tensor import Tensor


def ar(*shape: int) -> np.ndarray:
    """0, 1, 2, … in a shape."""
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def made(array: Any, **options: Any) -> Tensor:
    """A tensor of an array."""
    tensor = from_torch(array, **options)
    assert tensor is not None
    return tensor


def sharded(mesh: MeshDevice, device: bool = True) -> Tensor:
    """One element per device of a 2x4 mesh."""
    return made(ar(8), mesh_mapper=ShardTensorToMesh(mesh, 0), device=mesh if device else None)
