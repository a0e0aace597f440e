"""What a reshape of a mesh does to the tensors on it: data stays on its devices, so tensors follow them to their new coordinates.

A reshape is rare and tensors are many, so tensors are not registered as they come and go: the garbage collector knows them all.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from tt_run.runtime.mesh.device import Arrangement, MeshDevice
from tt_run.runtime.tensor.spec.topology import TensorTopology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Part, Storage

if TYPE_CHECKING:
    from tt_run.runtime.mesh.coordinate import MeshCoordinate


def follow(device: MeshDevice, before: Arrangement) -> None:
    """Renumber the shards of every tensor on `device`, which was arranged as `before`."""
    coord_at = dict(zip(device.positions, device.coords, strict=True))
    moved = {old: coord_at[p] for old, p in zip(before.coords, before.positions, strict=True)}
    local_before = [before.positions[i] for i in before.local_positions]
    order = [local_before.index(device.positions[i]) for i in device.local_positions]
    topologies: dict[int, TensorTopology] = {}
    storages: dict[int, Storage] = {}
    for tensor in _tensors():
        if tensor.device() is not device:
            continue
        storage = tensor.storage
        if isinstance(storage, Part):
            storages[id(storage.whole)] = storage.whole
        storages[id(storage)] = storage
        old = tensor.tensor_topology()
        if id(old) not in topologies:
            topologies[id(old)] = _moved(old, moved)
        tensor.place(topologies[id(old)])
    for storage in storages.values():
        if isinstance(storage, Part):
            storage.move(order, moved)
        elif storage.allocated:
            shards = storage.shards
            storage.write(Shards(shards.data, tuple(shards.index[i] for i in order)))


def _tensors() -> list[Tensor]:
    # The type alone: isinstance asks objects for their class, and some of other libraries answer with a warning.
    return [found for found in gc.get_objects() if issubclass(type(found), Tensor)]


def _moved(topology: TensorTopology, moved: dict[MeshCoordinate, MeshCoordinate]) -> TensorTopology:
    coords = [moved.get(coord, coord) for coord in topology.mesh_coords()]
    return TensorTopology(topology.distribution_shape(), topology.placements(), coords)
