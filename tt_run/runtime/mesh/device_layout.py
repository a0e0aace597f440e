"""Where the devices of a mesh are: coordinates, places in the system mesh, the ranks that host them, groups along its axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt_run.runtime.comm.world import Group, world
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, row_major
from tt_run.runtime.mesh.geometry.ranges import MeshCoordinateRange
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.system import SystemMesh

if TYPE_CHECKING:
    # pyright takes a cached property for the descriptor that it is, and no mesh would be what a protocol asks for.
    cached_property = property
else:
    from functools import cached_property

Positions = tuple[int, ...]


class DeviceLayout:
    """A mesh laid over devices of the system mesh: `positions[i]` is the row-major place there of the device at `coords[i]`.

    `known` is for what others have worked out from this arrangement; a new one starts empty.
    """

    system: SystemMesh

    def _lay_out(self, shape: MeshShape, positions: Positions) -> None:
        for name in ("coords", "local_positions", "local_coords", "group", "owner_ranks", "_index"):
            self.__dict__.pop(name, None)
        self._axis_groups: dict[int | None, tuple[Positions, ...]] = {}
        self.known: dict[Any, Any] = {}
        self._shape = shape
        self.positions = positions

    @property
    def shape(self) -> MeshShape:
        """Rows and columns."""
        return self._shape

    @cached_property
    def coords(self) -> tuple[MeshCoordinate, ...]:
        """Every coordinate, row-major."""
        return tuple(row_major(self._shape))

    @cached_property
    def _index(self) -> dict[MeshCoordinate, int]:
        return {coord: i for i, coord in enumerate(self.coords)}

    @cached_property
    def owner_ranks(self) -> tuple[int, ...]:
        """The world rank that hosts each device, in the order of `coords`."""
        return tuple(self.system.owners[position] for position in self.positions)

    def owner_rank(self, index: int) -> int:
        """The world rank that hosts the device at `coords[index]`."""
        return self.owner_ranks[index]

    @cached_property
    def local_positions(self) -> Positions:
        """Indices into `coords` of the devices that this rank hosts."""
        here = world().rank
        return tuple(i for i, owner in enumerate(self.owner_ranks) if owner == here)

    @cached_property
    def local_coords(self) -> tuple[MeshCoordinate, ...]:
        """Coordinates of the devices that this rank hosts, row-major."""
        return tuple(self.coords[i] for i in self.local_positions)

    @property
    def all_local(self) -> bool:
        """True when this rank hosts every device."""
        return len(self.local_positions) == len(self.positions)

    @cached_property
    def group(self) -> Group:
        """The ranks that host devices of this mesh, ascending."""
        return world().group(sorted(set(self.owner_ranks)))

    def axis_groups(self, cluster_axis: int | None) -> tuple[Positions, ...]:
        """Indices into `coords` of each group of devices along a mesh axis (None: all of them), in order along the axis.

        Axis 0 groups a column, axis 1 a row. Raises RuntimeError for an axis the mesh does not have.
        """
        if cluster_axis not in self._axis_groups:
            self._axis_groups[cluster_axis] = self._find_groups(cluster_axis)
        return self._axis_groups[cluster_axis]

    def _find_groups(self, cluster_axis: int | None) -> tuple[Positions, ...]:
        rows, columns = self._shape
        if cluster_axis is None:
            return (tuple(range(rows * columns)),)
        _ = self._shape[cluster_axis]
        if cluster_axis % 2 == 0:
            return tuple(tuple(r * columns + c for r in range(rows)) for c in range(columns))
        return tuple(tuple(r * columns + c for c in range(columns)) for r in range(rows))

    def index_of(self, coord: MeshCoordinate) -> int | None:
        """The row-major index of a coordinate, None when it is outside."""
        return self._index.get(coord)

    @property
    def mesh_id(self) -> int:
        """The id of the system mesh it lies on."""
        return self.system.mesh_id


def local_range(layout: DeviceLayout) -> MeshCoordinateRange | None:
    """The smallest range of coordinates that holds this rank's devices; None when it has none."""
    coords = layout.local_coords
    if not coords:
        return None
    return MeshCoordinateRange(
        MeshCoordinate([min(c[i] for c in coords) for i in range(2)]),
        MeshCoordinate([max(c[i] for c in coords) for i in range(2)]),
    )
