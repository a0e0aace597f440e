"""MeshDevice: a rectangle of devices of the system mesh on which programs run, some of them on this rank.

Members and messages follow the ttnn specification, sections 3 and 11. Device numbers: `positions[i]` is the row-major place in the
system mesh of the device at coordinate i; the ids that programs see are process-local.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tt_run.runtime import guard
from tt_run.runtime.comm import Group, world
from tt_run.runtime.cores import CoreCoord, CoreGrid
from tt_run.runtime.errors import fatal, throw
from tt_run.runtime.mesh.arrange import bounding_rectangle, places_in, tile
from tt_run.runtime.mesh.coordinate import MeshCoordinate, MeshCoordinateRange, row_major
from tt_run.runtime.mesh.hardware import Arch, arch_of, compute_grid, dram_grid
from tt_run.runtime.mesh.shape import MeshShape
from tt_run.runtime.mesh.system import SystemMesh
from tt_run.runtime.mesh.view import (
    FabricNodeId,
    MeshDeviceView,
    ProgramCache,
    SubDeviceManagerId,
    SubDevices,
)

Positions = tuple[int, ...]


class MeshDevice:
    """Devices arranged as a mesh. Opened by `open_mesh_device`, cut by `create_submesh`.

    Its layout (`shape`, `coords`, `positions`, `owner_rank`, …) still answers after `close`.
    """

    bound_name = "ttnn._ttnn.multi_device.MeshDevice"
    _opened = 0

    def __init__(
        self,
        system: SystemMesh,
        shape: MeshShape,
        positions: Positions,
        parent: MeshDevice | None = None,
        queues: int = 1,
    ) -> None:
        self.system = system
        self.parent = parent
        self.queues = queues
        self.is_open = True
        self.program_cache = ProgramCache()
        self.sub_devices = SubDevices()
        self._children: list[MeshDevice] = []
        self._number = MeshDevice._opened
        MeshDevice._opened += 1
        self._lay_out(shape, positions)

    def _lay_out(self, shape: MeshShape, positions: Positions) -> None:
        for name in ("coords", "local_positions", "local_coords", "group", "owner_ranks", "_index"):
            self.__dict__.pop(name, None)
        self._axis_groups: dict[int | None, tuple[Positions, ...]] = {}
        self._shape = shape
        self.positions = positions

    # --- layout --------------------------------------------------------------------------------------------------------

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
    def root(self) -> MeshDevice:
        """The mesh that was opened: this one, or the ancestor it was cut from."""
        return self if self.parent is None else self.parent.root

    @property
    def mesh_id(self) -> int:
        """The id of the system mesh it lies on."""
        return self.system.mesh_id

    # --- what programs ask ---------------------------------------------------------------------------------------------

    def id(self) -> int:
        """A number of its own; submeshes and closed meshes use numbers up."""
        return self._number

    def get_num_devices(self) -> int:
        """How many devices on all ranks."""
        return len(self.positions)

    def get_device_ids(self) -> list[int]:
        """Process-local ids of the local devices, in mesh order."""
        return [number for position in self.positions if (number := self.system.ids[position]) is not None]

    def get_device_id(self, coord: MeshCoordinate) -> int:
        """The process-local id of a device. Raises RuntimeError outside the mesh and for a remote device."""
        index = self.index_of(coord)
        if index is None:
            raise fatal(f"Device ID requested for MeshCoord {coord} not found.")
        number = self.system.ids[self.positions[index]]
        if number is None:
            raise fatal(f"Cannot get device for remote device at coordinate {coord}")
        return number

    def get_system_mesh_id(self) -> int:
        """The mesh id of the descriptor."""
        return self.system.mesh_id

    def get_fabric_node_id(self, coord: MeshCoordinate) -> FabricNodeId:
        """Mesh id and row-major number in the system mesh. Raises RuntimeError outside the mesh."""
        index = self.index_of(coord)
        if index is None:
            raise fatal(f"Coordinate {coord} not found in mesh {self._shape}")
        return FabricNodeId(self.system.mesh_id, self.positions[index])

    def get_view(self) -> MeshDeviceView:
        """Which part of the mesh is where."""
        return MeshDeviceView(self)

    # --- life ----------------------------------------------------------------------------------------------------------

    def create_submesh(self, shape: MeshShape, offset: MeshCoordinate | None = None) -> MeshDevice:
        """The rectangle of `shape` at `offset` (the origin when None), as a mesh of its own. Submeshes may overlap and nest.

        Raises RuntimeError when it does not fit.
        """
        self._check_submesh(shape, offset)
        row, column = (offset[0], offset[1]) if offset is not None else (0, 0)
        columns = self._shape[1]
        positions = tuple(
            self.positions[(row + r) * columns + column + c] for r in range(shape[0]) for c in range(shape[1])
        )
        child = MeshDevice(self.system, shape, positions, self, self.queues)
        self._children.append(child)
        return child

    def create_submeshes(self, shape: MeshShape) -> list[MeshDevice]:
        """Cut the whole mesh into submeshes of one shape, row-major. Raises RuntimeError when it does not divide."""
        return [self.create_submesh(shape, offset) for offset in tile(self._shape, shape)]

    def get_submeshes(self) -> list[MeshDevice]:
        """The submeshes cut directly from this mesh."""
        return list(self._children)

    def _check_submesh(self, shape: MeshShape, offset: MeshCoordinate | None) -> None:
        self.require_open("create_submesh")
        if not isinstance(shape, MeshShape):
            raise TypeError(
                f"create_submesh(): submesh_shape must be a MeshShape, not {type(shape).__name__}"
            )
        if any(extent <= 0 for extent in shape):
            raise fatal(f"Invalid submesh shape: ({shape}). All dimensions must be positive.")
        if shape.dims() != self._shape.dims():
            raise fatal(
                f"Submesh shape {shape} and mesh device shape {self._shape} must have the same number of dimensions."
            )
        if offset is not None and offset.dims() != shape.dims():
            raise fatal(f"Submesh shape {shape} and offset {offset} must have the same number of dimensions.")
        start = offset if offset is not None else MeshCoordinate(0, 0)
        if any(o + extent > whole for o, extent, whole in zip(start, shape, self._shape, strict=True)):
            shown = "std::nullopt" if offset is None else str(offset)
            raise fatal(
                f"Submesh shape {shape} and offset {shown} does not fit within parent mesh ({self._shape})."
            )

    def reshape(self, shape: MeshShape) -> None:
        """Arrange the same devices as another shape, in place.

        A line becomes any other line; a rectangle is laid out anew as `open_mesh_device` would. Raises RuntimeError when the number of
        devices differs or neighbours would not be linked.
        """
        if shape.mesh_size() != self._shape.mesh_size():
            raise fatal("New shape must have the same number of devices as current shape")
        if shape == self._shape:
            return
        if 1 in shape and 1 in self._shape:
            self._lay_out(shape, self.positions)
            return
        columns = self.system.shape[1]
        rectangle = bounding_rectangle([divmod(position, columns) for position in self.positions])
        if rectangle is None:
            raise throw(
                f"Mesh reshape from {self._shape} to {shape} would connect devices that are not linked."
            )
        (row, column), outer = rectangle
        places = places_in(outer, shape, None)
        self._lay_out(shape, tuple((row + r) * columns + column + c for r, c in places))

    def close(self) -> None:
        """Give the devices back; its submeshes close with it. Closing twice does nothing."""
        if not self.is_open:
            return
        for child in self._children:
            child.close()
        if self.parent is None and self.group.is_member:
            guard.collective(self.group, guard.Signature("close_mesh_device", shape=tuple(self._shape)))
        self.is_open = False

    def quiesce_devices(self) -> None:
        """Wait until all queues are empty: work is done when it is issued, so only the call is checked."""
        self.require_open("quiesce_devices")

    def require_open(self, action: str) -> None:
        """Raises RuntimeError when the mesh is closed."""
        if not self.is_open:
            raise fatal(f"{action}: {self} is closed", "this->is_initialized()")

    # --- hardware facts ------------------------------------------------------------------------------------------------

    def arch(self) -> Arch:
        """The chip architecture."""
        return arch_of(self.system.machine.arch)

    @property
    def core_grid(self) -> CoreGrid:
        """The worker cores of each device."""
        return compute_grid(self.arch())

    def compute_with_storage_grid_size(self) -> CoreCoord:
        """The worker cores of each device, as a coordinate: columns, rows."""
        grid = compute_grid(self.arch())
        return CoreCoord(grid.x, grid.y)

    def dram_grid_size(self) -> CoreCoord:
        """The DRAM channels of each device."""
        return dram_grid(self.arch())

    def worker_core_from_logical_core(self, logical: CoreCoord) -> CoreCoord:
        """The same core: an emulated chip has no harvested rows. Raises RuntimeError outside the grid."""
        grid = compute_grid(self.arch())
        if not (0 <= logical.x < grid.x and 0 <= logical.y < grid.y):
            raise fatal(
                f"Bounds-Error -- Logical_core={logical} is outside of logical_grid_size={grid.x}-{grid.y}"
            )
        return logical

    def create_sub_device_manager(self, sub_devices: object, local_l1_size: int = 0) -> SubDeviceManagerId:
        """Keep a layout of sub-devices and name it."""
        return self.sub_devices.create(sub_devices, local_l1_size)

    def load_sub_device_manager(self, manager_id: SubDeviceManagerId) -> None:
        """Make a layout of sub-devices the active one."""
        self.sub_devices.load(manager_id)

    def clear_loaded_sub_device_manager(self) -> None:
        """Go back to whole devices."""
        self.sub_devices.clear()

    def remove_sub_device_manager(self, manager_id: SubDeviceManagerId) -> None:
        """Forget a layout of sub-devices."""
        self.sub_devices.remove(manager_id)

    def set_sub_device_stall_group(self, sub_device_ids: Sequence[object]) -> None:
        """Which sub-devices a synchronization waits for: kept, since emulated work is done when it is issued."""
        self.sub_devices.stall_group = tuple(sub_device_ids)

    def reset_sub_device_stall_group(self) -> None:
        """Wait for all sub-devices again."""
        self.sub_devices.stall_group = ()

    @staticmethod
    def sfpu_eps() -> float:
        """Smallest step of the vector unit around 1."""
        return 1.1920899822825959e-07

    @staticmethod
    def sfpu_inf() -> float:
        """What the vector unit takes for infinity."""
        return 1.7013999693950742e38

    @staticmethod
    def sfpu_nan() -> float:
        """What the vector unit takes for not-a-number."""
        return float("nan")

    def enable_program_cache(self) -> None:
        """Accepted: the cache is always on."""
        self.program_cache.enabled = True

    def disable_and_clear_program_cache(self) -> None:
        """Forget compiled programs and keep none."""
        self.program_cache.clear()
        self.program_cache.enabled = False

    def clear_program_cache(self) -> None:
        """Forget compiled programs."""
        self.program_cache.clear()

    def num_program_cache_entries(self) -> int:
        """How many programs are compiled."""
        return len(self.program_cache)

    def set_program_cache_misses_allowed(self, allowed: bool) -> None:
        """Whether a program may be compiled from now on; if not, a new one raises RuntimeError."""
        self.program_cache.misses_allowed = allowed

    def __repr__(self) -> str:
        grid = "x".join(map(str, self._shape))
        return f"MeshDevice({grid} grid, {len(self.positions)} devices)"


def check_same_mesh(a: MeshDevice, b: MeshDevice, message: str) -> None:
    """Raises RuntimeError with `message` unless both are one mesh."""
    if a is not b:
        raise fatal(message)


def local_range(device: MeshDevice) -> MeshCoordinateRange | None:
    """The smallest range of coordinates that holds this rank's devices; None when it has none."""
    coords: Sequence[MeshCoordinate] = device.local_coords
    if not coords:
        return None
    return MeshCoordinateRange(
        MeshCoordinate([min(c[i] for c in coords) for i in range(2)]),
        MeshCoordinate([max(c[i] for c in coords) for i in range(2)]),
    )
