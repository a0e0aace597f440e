"""What `Tensor.host_buffer()` gives: the shards of a host tensor by mesh coordinate (reference library 0.81.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.tensor.spec.physical import packed
from tt_run.runtime.tensor.spec.site import Site
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate

Bytes = npt.NDArray[np.uint8]


@native("ttnn._ttnn.tensor.HostBuffer")
class HostBuffer(metaclass=Native):
    """The bytes of a shard as the reference keeps them in memory, for `numpy.from_dlpack` and `torch.from_dlpack`; a copy of them here."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes: Bytes = np.empty(0, np.uint8)

    @classmethod
    def of(cls, shard: npt.NDArray[Any], spec: TensorSpec) -> HostBuffer:
        """The buffer of a shard."""
        made = cls()
        made._bytes = packed(shard[None, ...], spec)[0]
        return made

    def __len__(self) -> int:
        return len(self._bytes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._bytes, dtype)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._bytes.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@native("ttnn._ttnn.multi_device.DistributedHostBuffer")
class DistributedHostBuffer(metaclass=Native):
    """The shards of a host tensor by mesh coordinate."""

    __slots__ = ("_shards", "_site", "_spec")

    def __init__(self, site: Site, shards: Shards, spec: TensorSpec) -> None:
        self._site, self._shards, self._spec = site, shards, spec

    def shape(self) -> MeshShape:
        """Shape of the mesh that the tensor was distributed for."""
        return self._site.shape

    def is_local(self, coord: MeshCoordinate) -> bool:
        """Whether this rank holds the shard of a coordinate. Raises RuntimeError outside of the mesh."""
        self._check(coord)
        return coord in self._site.local_coords

    def get_shard(self, coord: MeshCoordinate) -> HostBuffer | None:
        """The bytes of the shard of a coordinate; None where there is none or another rank has it. Raises RuntimeError outside of the mesh."""
        self._check(coord)
        shards = dict(zip(self._site.local_coords, self._shards.each(), strict=True))
        shard = shards.get(coord)
        return None if shard is None else HostBuffer.of(shard, self._spec)

    def _check(self, coord: MeshCoordinate) -> None:
        if coord not in self._site.coords:
            raise fatal(
                f"Coordinate {coord} is out of bounds for shape {self._site.shape}",
                hint=f"from {self._site.coords[0]} to {self._site.coords[-1]}",
            )
