"""Room for tensors, on a mesh or on the host."""

from __future__ import annotations

import pytest

from tests.runtime.tensor.made import sharded
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.creation.allocation import allocate_tensor_on_device
from tt_run.runtime.tensor.distribution.per_device import (
    get_device_tensors,
)
from tt_run.runtime.tensor.spec.tensor_spec import Shape


def test_allocation_is_replicated_along_the_axes_of_the_mesh(mesh: MeshDevice) -> None:
    for tensor in (
        allocate_tensor_on_device(sharded(mesh).spec, mesh),
        allocate_tensor_on_device(Shape([1]), DataType.FLOAT32, Layout.ROW_MAJOR, mesh),
    ):
        found = tensor.tensor_topology()
        assert str(found.placements()) == "[PlacementReplicate(), PlacementReplicate()]"
        assert found.distribution_shape() == MeshShape(2, 4)
        assert tensor.shape == [1]
        assert get_device_tensors(tensor)[5].item() == 0
    with pytest.raises(TypeError, match="expected"):
        allocate_tensor_on_device([1], mesh)
