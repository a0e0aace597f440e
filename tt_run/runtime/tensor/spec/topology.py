"""How a tensor is spread over a mesh: placements per distribution axis, and the coordinates that hold shards.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tt_run.runtime.errors import incompatible
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.tensor.spec.site import Site, coords_of

if TYPE_CHECKING:
    from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate


@native("ttnn._ttnn.multi_device.PlacementReplicate")
class PlacementReplicate(metaclass=Native):
    """Every device along this axis of the distribution holds the same shard."""

    __slots__ = ()
    _bound_name = "ttnn._ttnn.multi_device.PlacementReplicate"

    def __init__(self, *args: object, **kwargs: object) -> None:
        if args or kwargs:
            raise incompatible("__init__", ("__init__(self) -> None",), (self, *args), kwargs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PlacementReplicate):
            raise incompatible(
                "__eq__", (f"__eq__(self, arg: {self._bound_name}, /) -> bool",), (self, other)
            )
        return True

    def __hash__(self) -> int:
        return hash(PlacementReplicate)

    def __repr__(self) -> str:
        return "PlacementReplicate()"


@native("ttnn._ttnn.multi_device.PlacementShard")
class PlacementShard(metaclass=Native):
    """Devices along this axis of the distribution hold consecutive chunks of tensor dimension `dim`.

    Two of them are equal only when they are the same object, as in the reference; compare `dim`.
    """

    __slots__ = ("_dim",)
    _bound_name = "ttnn._ttnn.multi_device.PlacementShard"

    def __init__(self, *args: int, **kwargs: object) -> None:
        if kwargs or len(args) != 1 or isinstance(args[0], bool) or not hasattr(args[0], "__index__"):
            raise incompatible("__init__", ("__init__(self, arg: int, /) -> None",), (self, *args), kwargs)
        self._dim = int(operator.index(args[0]))

    @property
    def dim(self) -> int:
        """The tensor dimension, negative if it was given so."""
        return self._dim

    def __repr__(self) -> str:
        return f"PlacementShard({self._dim})"


Placement = PlacementReplicate | PlacementShard


@native("ttnn._ttnn.multi_device.TensorTopology")
class TensorTopology(metaclass=Native):
    """Distribution shape, placements and mesh coordinates of a tensor.

    Computed tensors have every device among their coordinates; `_held` are those that have a shard, where they are fewer, and `_alone`
    says that it is one which the program took out of a tensor, so that the rank which hosts it reads it without the others.
    """

    __slots__ = ("_alone", "_coords", "_held", "_placements", "_shape")

    def __init__(
        self,
        distribution_shape: MeshShape,
        placements: Sequence[Placement],
        mesh_coords: Sequence[MeshCoordinate],
    ) -> None:
        self._shape = distribution_shape
        self._placements = tuple(placements)
        self._coords = tuple(mesh_coords)
        self._held: tuple[MeshCoordinate, ...] | None = None
        self._alone = False

    def distribution_shape(self) -> MeshShape:
        """Shape of the grid of shards."""
        return self._shape

    def placements(self) -> list[Placement]:
        """One placement per dimension of the distribution shape."""
        return list(self._placements)

    def mesh_coords(self) -> list[MeshCoordinate]:
        """Coordinate of every shard, row-major over the distribution shape."""
        return list(self._coords)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorTopology):
            return NotImplemented
        return (
            self._shape == other._shape
            and self._coords == other._coords
            and [_dim(p) for p in self._placements] == [_dim(p) for p in other._placements]
        )

    def __hash__(self) -> int:
        return hash((self._shape, tuple(map(_dim, self._placements)), self._coords))

    def __repr__(self) -> str:
        return (
            f"TensorTopology(distribution_shape={self._shape}, placements=SmallVector({list(self._placements)}), "
            f"mesh_coords={', '.join(map(str, self._coords))})"
        )


def holders(topology: TensorTopology) -> tuple[MeshCoordinate, ...]:
    """The coordinates that have a shard."""
    return topology._coords if topology._held is None else topology._held


def partly(topology: TensorTopology) -> tuple[MeshCoordinate, ...] | None:
    """The coordinates that have a shard where the topology tells more, else None."""
    return topology._held


def leaves_out(topology: TensorTopology, devices: int) -> bool:
    """Whether some of a mesh's devices have no shard."""
    return len(topology._coords) != devices or topology._held is not None


def on_part(topology: TensorTopology, coords: Sequence[MeshCoordinate]) -> TensorTopology:
    """The same labels for a tensor that has shards at some of its coordinates."""
    made = TensorTopology(topology._shape, topology._placements, topology._coords)
    made._held = tuple(coords)
    return made


def of_one_shard(topology: TensorTopology, coord: MeshCoordinate) -> TensorTopology:
    """The same labels for one shard of a tensor, and for what is computed of it."""
    made = on_part(topology, [coord])
    made._alone = True
    return made


def only_shard(topology: TensorTopology) -> MeshCoordinate | None:
    """Where the shard is that was taken out of a tensor, None for a tensor that was not."""
    return topology._held[0] if topology._alone and topology._held else None


def as_partly(topology: TensorTopology, other: TensorTopology) -> TensorTopology:
    """The same labels for a tensor that has shards where one of another topology has them."""
    if other._held is None:
        return topology
    made = on_part(topology, other._held)
    made._alone = other._alone
    return made


def after_reshape(
    topology: TensorTopology, coords: Mapping[MeshCoordinate, MeshCoordinate]
) -> TensorTopology:
    """The same spread after a reshape of the mesh; `coords` gives old coordinates their new ones."""
    followed = [coords.get(coord, coord) for coord in topology.mesh_coords()]
    found = TensorTopology(topology.distribution_shape(), topology.placements(), followed)
    own = topology._held
    if own is None:
        return found
    made = on_part(found, [coords.get(coord, coord) for coord in own])
    made._alone = topology._alone
    return made


def _dim(placement: Placement) -> int | None:
    return placement.dim if isinstance(placement, PlacementShard) else None


def replicated_topology(site: Site, on_device: bool) -> TensorTopology:
    """The topology of a tensor that nobody cut: one copy on the host, or the same on each of N devices."""
    if not on_device:
        return _on_the_host()
    return TensorTopology(MeshShape([len(site.coords)]), [PlacementReplicate()], site.coords)


@lru_cache(maxsize=1)
def _on_the_host() -> TensorTopology:
    return TensorTopology(MeshShape([1]), [PlacementReplicate()], coords_of((1, 1)))
