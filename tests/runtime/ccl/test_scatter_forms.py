"""What forms of a reduce-scatter refuse; their values are compared in forms_program.py."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.tensor import Tensor


def ones(device: MeshDevice) -> Tensor:
    return from_torch(
        np.ones((1, 1, 32, 256), np.float32), DataType.FLOAT32, layout=Layout.TILE, device=device
    )


def test_only_a_mesh_of_one_dimension_needs_no_axis(mesh: MeshDevice, row: MeshDevice) -> None:
    scatter = catalog.find("ttnn.experimental.reduce_scatter_minimal_direct")
    assert scatter is not None
    assert tuple(scatter(ones(row), 3).shape) == (1, 1, 32, 128)
    assert tuple(scatter(ones(mesh), 3, cluster_axis=1).shape) == (1, 1, 32, 64)
    with pytest.raises(RuntimeError, match="needs cluster_axis on"):
        scatter(ones(mesh), 3)
