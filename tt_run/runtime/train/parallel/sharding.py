"""`ttml.Sharding`: how a tensor lies over the mesh, to gather it to one array and to lay an array out the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.distribution import mappers
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.spec.topology import Placement, PlacementShard
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.parallel.sharded_parameters import differing_copy, whole_parameter

Array = npt.NDArray[Any]


class ReplicaMismatchError(RuntimeError):
    """Devices that a tensor's placements say hold copies hold different numbers."""


@dataclass(frozen=True)
class Sharding:
    """One placement for each axis of a distribution, and its extents; both None on a single device.

    The axes are those of the mesh, or one over all devices where the tensor was laid out without naming an axis of a line.
    """

    placements: tuple[Placement, ...] | None = None
    dist_shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        given = () if self.placements is None else self.placements
        if not isinstance(given, Sequence) or not all(isinstance(one, Placement) for one in given):
            raise TypeError(
                f"Sharding: placements are one for each axis, not {self.placements!r}; help: ttml.Sharding((ttnn.PlacementReplicate(), "
                "ttnn.PlacementShard(2)), (1, 2)), or ttml.Sharding.from_tensor(tensor)"
            )

    @classmethod
    def from_tensor(cls, tensor: Tensor) -> Sharding:
        """How a tensor lies now, by the topology that its value carries."""
        value = tensor.get_value(PreferredPrecision.FULL)
        device = value.device()
        if device is None or device.get_num_devices() == 1:
            return cls()
        topology = value.tensor_topology()
        return cls(tuple(topology.placements()), tuple(topology.distribution_shape()))

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole."""
        return not any(isinstance(placement, PlacementShard) for placement in self.placements or ())

    @property
    def label(self) -> str:
        """The placements as the tensor carries them: "[Replicate, Shard(2)] over mesh [1, 2]"."""
        words = (
            f"Shard({placement.dim})" if isinstance(placement, PlacementShard) else "Replicate"
            for placement in self.placements or ()
        )
        return f"[{', '.join(words)}] over mesh [{', '.join(map(str, self.dist_shape or ()))}]"

    def mismatch(self, tensor: Tensor) -> str:
        """What is wrong where devices that should hold copies of one part hold different numbers; "" where nothing is.

        Each rank looks at its own devices.
        """
        found = differing_copy(tensor.get_value(PreferredPrecision.FULL))
        if found is None:
            return ""
        first, other = found
        return f"is labelled {self.label}, but its copy on {other} differs from copy 0 on {first}"

    def gather(self, tensor: Tensor, verify_replicas: bool = True) -> Array:
        """The whole array of a tensor that lies so, in its own type. Collective over the ranks of the mesh where it is cut.

        Raises ReplicaMismatchError where devices that should hold copies hold different numbers; without `verify_replicas` the first copy
        stands for all.
        """
        if verify_replicas and (problem := self.mismatch(tensor)):
            raise ReplicaMismatchError(f"the tensor {problem}")
        array = whole_parameter(tensor, verify=False)
        kind = ml_dtypes.bfloat16 if tensor.dtype() is DataType.BFLOAT16 else np.float32
        return np.ascontiguousarray(array, kind)

    def derive_mapper(self) -> mappers.TensorToMesh | None:
        """What lays a whole array out so; None on a single device."""
        if self.placements is None:
            return None
        device = AutoContext.get_instance().get_device()
        extents = MeshShape(list(self.dist_shape or ()))
        return mappers.create_mesh_mapper(device, MeshMapperConfig(list(self.placements), extents))

    def describe(self) -> str:
        """The placements in words: "replicated over axis 0 (2), cut on dim 2 over axis 1 (4)"."""
        if self.placements is None or self.dist_shape is None:
            return "on one device"
        words = (
            f"cut on dim {placement.dim} over axis {axis} ({extent})"
            if isinstance(placement, PlacementShard)
            else f"replicated over axis {axis} ({extent})"
            for axis, (placement, extent) in enumerate(zip(self.placements, self.dist_shape, strict=False))
        )
        return ", ".join(words)
