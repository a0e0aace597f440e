"""What `Tensor.host_buffer()` gives: the shards of a host tensor by mesh coordinate (reference library 0.81.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.tensor.spec.site import Site
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate


@native("ttnn._ttnn.multi_device.DistributedHostBuffer")
class HostBuffer(metaclass=Native):
    """The shards of a host tensor by mesh coordinate."""

    __slots__ = ("_shards", "_site")

    def __init__(self, site: Site, shards: Shards) -> None:
        self._site, self._shards = site, shards

    def shape(self) -> MeshShape:
        """Shape of the mesh that the tensor was distributed for."""
        return self._site.shape

    def is_local(self, coord: MeshCoordinate) -> bool:
        """Whether this rank holds the shard of a coordinate."""
        return coord in self._site.local_coords

    def get_shard(self, coord: MeshCoordinate) -> npt.NDArray[Any] | None:
        """The shard of a coordinate in stored form; None where there is none or another rank has it."""
        shards = dict(zip(self._site.local_coords, self._shards.each(), strict=True))
        return shards.get(coord)
