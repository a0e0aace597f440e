"""MeshDevice: a rectangle of devices of the system mesh on which programs run, some of them on this rank.

Members and messages follow the reference library 0.81.1. Device numbers: `positions[i]` is the row-major place in the
system mesh of the device at coordinate i; the ids that programs see are process-local.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import ClassVar
from weakref import WeakSet

from mgd.lean import dataclass
from tt_run.runtime import guard
from tt_run.runtime.errors import fatal, type_name
from tt_run.runtime.mesh.chips import Chips
from tt_run.runtime.mesh.device_layout import DeviceLayout, Positions
from tt_run.runtime.mesh.geometry.arrange import places_in, snake, tile
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, coordinate_hint
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.residents import Move, Residents
from tt_run.runtime.mesh.system import SystemMesh
from tt_run.runtime.mesh.view import FabricNodeId, MeshDeviceView, MeshId, ProgramCache, SubDevices
from tt_run.runtime.mesh.workers import worker_grid
from tt_run.runtime.native.arguments import public
from tt_run.runtime.native.classes import Native
from tt_run.runtime.native.refusals import native_class


@dataclass(frozen=True, slots=True)
class Regions:
    """What the program keeps of its chips from tensors, in bytes: for traces in all banks of DRAM together, for small buffers in each of L1.

    `worker_l1`: how much of each bank of L1 it has at all for both; 0 for as much as is usual.
    """

    trace: int = 0
    l1_small: int = 0
    worker_l1: int = 0


NO_REGIONS = Regions()


@native_class(
    "ttnn._ttnn.multi_device.MeshDevice",
    *(
        "arch",
        "clear_loaded_sub_device_manager",
        "clear_program_cache",
        "compute_with_storage_grid_size",
        "create_sub_device_manager",
        "create_submesh",
        "create_submeshes",
        "disable_and_clear_program_cache",
        "dram_core_from_logical_core",
        "dram_grid_size",
        "enable_program_cache",
        "get_device_id",
        "get_device_ids",
        "get_fabric_node_id",
        "get_num_devices",
        "get_optimal_dram_bank_to_logical_worker_assignment",
        "get_submeshes",
        "get_system_mesh_id",
        "get_view",
        "id",
        "load_sub_device_manager",
        "logical_core_from_worker_core",
        "num_program_cache_entries",
        "quiesce_devices",
        "remove_sub_device_manager",
        "reset_sub_device_stall_group",
        "reshape",
        "set_program_cache_misses_allowed",
        "set_sub_device_stall_group",
        "sfpu_eps",
        "sfpu_inf",
        "sfpu_nan",
        "worker_core_from_logical_core",
    ),
)
class MeshDevice(DeviceLayout, Chips, metaclass=Native):
    """Devices arranged as a mesh. Opened by `open_mesh_device`, cut by `create_submesh`.

    Its layout (`shape`, `coords`, `positions`, `owner_rank`, …) still answers after `close`.
    """

    _opened = 0
    _roots: ClassVar[WeakSet[MeshDevice]] = WeakSet()
    """The meshes of this process that were opened and not closed."""
    finishing: ClassVar[list[Callable[[MeshDevice], None]]] = []
    """Called before the ranks agree to close a mesh: what is under way on it comes to its end."""
    closing: ClassVar[list[Callable[[MeshDevice], None]]] = []
    """Told of each mesh that closes, submeshes before their parent."""

    def __init__(
        self,
        system: SystemMesh,
        shape: MeshShape,
        positions: Positions,
        parent: MeshDevice | None = None,
        queues: int = 1,
        regions: Regions = NO_REGIONS,
        dispatch: object = None,
    ) -> None:
        self.system = system
        self.workers = parent.workers if parent is not None else worker_grid(system.machine, dispatch)
        self.parent = parent
        self.queues = queues
        self.regions = regions
        self.is_open = True
        self.program_cache = ProgramCache()
        self.sub_devices = SubDevices()
        self.residents = Residents()
        self._children: list[MeshDevice] = []
        self._number = MeshDevice._opened
        MeshDevice._opened += 1
        self._lay_out(shape, positions)
        if parent is None:
            MeshDevice._roots.add(self)

    @classmethod
    def skip_number(cls) -> None:
        """Use up an `id()`."""
        MeshDevice._opened += 1

    @classmethod
    def roots(cls) -> list[MeshDevice]:
        """The meshes of this process that were opened and not closed, in the order in which they were."""
        return sorted(cls._roots, key=lambda mesh: mesh._number)

    @classmethod
    def any_open(cls) -> bool:
        """Whether this process has a mesh that was opened and not closed."""
        return bool(cls._roots)

    @property
    def root(self) -> MeshDevice:
        """The mesh that was opened: this one, or the ancestor it was cut from."""
        return self if self.parent is None else self.parent.root

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
        index = self._index_of(coord)
        if index is None:
            raise fatal(
                f"Device ID requested for MeshCoord {coord} not found.", hint=coordinate_hint(self._shape)
            )
        number = self.system.ids[self.positions[index]]
        if number is None:
            raise fatal(
                f"Cannot get device for remote device at coordinate {coord}",
                hint="ask mesh_device.get_view().is_local(coord) first: another rank hosts this device",
            )
        return number

    def get_system_mesh_id(self) -> int:
        """The mesh id of the descriptor."""
        return self.system.mesh_id

    def get_fabric_node_id(self, coord: MeshCoordinate) -> FabricNodeId:
        """Mesh id and row-major number in the system mesh. Raises RuntimeError outside the mesh."""
        index = self._index_of(coord)
        if index is None:
            raise fatal(
                f"Coordinate {coord} not found in mesh {self._shape}", hint=coordinate_hint(self._shape)
            )
        return FabricNodeId(MeshId(self.system.mesh_id), self.positions[index])

    def _index_of(self, coord: MeshCoordinate) -> int | None:
        if not isinstance(coord, MeshCoordinate):
            raise TypeError(f"coord must be a MeshCoordinate, not {type_name(coord)}")
        return self.index_of(coord)

    def get_view(self) -> MeshDeviceView:
        """Which part of the mesh is where."""
        return MeshDeviceView(self)

    # --- life ----------------------------------------------------------------------------------------------------------

    @public
    def create_submesh(self, submesh_shape: MeshShape, offset: MeshCoordinate | None = None) -> MeshDevice:
        """The rectangle of `submesh_shape` at `offset` (the origin when None), as a mesh of its own. Submeshes may overlap and nest.

        Raises RuntimeError when it does not fit.
        """
        self._check_submesh(submesh_shape, offset)
        row, column = (offset[0], offset[1]) if offset is not None else (0, 0)
        columns = self._shape[1]
        positions = tuple(
            self.positions[(row + r) * columns + column + c]
            for r in range(submesh_shape[0])
            for c in range(submesh_shape[1])
        )
        child = MeshDevice(self.system, submesh_shape, positions, self, self.queues, self.regions)
        self._children.append(child)
        return child

    @public
    def create_submeshes(self, submesh_shape: MeshShape) -> list[MeshDevice]:
        """Cut the whole mesh into submeshes of one shape, row-major. Raises RuntimeError when it does not divide."""
        return [self.create_submesh(submesh_shape, offset) for offset in tile(self._shape, submesh_shape)]

    def get_submeshes(self) -> list[MeshDevice]:
        """The submeshes cut directly from this mesh."""
        return list(self._children)

    def _check_submesh(self, shape: MeshShape, offset: MeshCoordinate | None) -> None:
        self.require_open("create_submesh")
        if any(extent <= 0 for extent in shape):
            raise fatal(
                f"Invalid submesh shape: ({shape}). All dimensions must be positive.",
                hint="write every extent as 1 or more",
            )
        if shape.dims() != self._shape.dims():
            raise fatal(
                f"Submesh shape {shape} and mesh device shape {self._shape} must have the same number of dimensions.",
                hint=f"write {self._shape.dims()} numbers in each",
            )
        if offset is not None and offset.dims() != shape.dims():
            raise fatal(
                f"Submesh shape {shape} and offset {offset} must have the same number of dimensions.",
                hint=f"write {self._shape.dims()} numbers in each",
            )
        start = offset if offset is not None else MeshCoordinate(0, 0)
        if any(o + extent > whole for o, extent, whole in zip(start, shape, self._shape, strict=True)):
            shown = "std::nullopt" if offset is None else str(offset)
            raise fatal(
                f"Submesh shape {shape} and offset {shown} does not fit within parent mesh ({self._shape}).",
                hint="offset plus shape must stay within "
                + " x ".join(map(str, self._shape))
                + ", row by row and column by column",
            )

    def reshape(self, new_shape: MeshShape) -> None:
        """Arrange the same devices as another shape, in place.

        A line runs through the old shape as a snake or ring. Any other shape is laid out anew from the place of the first device, as
        `open_mesh_device` would. Data stays on its devices; tensors follow them to their new coordinates.
        Raises RuntimeError when the number of devices differs or the new layout needs other devices, TypeError for what is no MeshShape.
        """
        self.require_open("reshape")
        if not isinstance(new_shape, MeshShape):
            raise TypeError(f"reshape(): new_shape must be a MeshShape, not {type(new_shape).__name__}")
        if new_shape.mesh_size() != self._shape.mesh_size():
            raise fatal(
                "New shape must have the same number of devices as current shape",
                hint=f"{new_shape} has {new_shape.mesh_size()} devices, this mesh {self._shape.mesh_size()}: cut a part of it with create_submesh",
            )
        if new_shape == self._shape:
            return
        if new_shape.dims() == 2 and 1 in new_shape:
            columns = self._shape[1]
            self._rearrange(new_shape, tuple(self.positions[r * columns + c] for r, c in snake(self._shape)))
            return
        columns = self.system.shape[1]
        first = MeshCoordinate(divmod(self.positions[0], columns))
        positions = tuple(r * columns + c for r, c in places_in(self.system.shape, new_shape, first))
        if not set(positions) <= set(self.positions):
            raise fatal(
                f"User has requested a reshape of the MeshDevice to shape: {new_shape}, but it is not possible to form a physically "
                f"connected mesh grid with the opened devices from the original shape: {self._shape}.",
                hint="close it and open the other shape: ttnn.open_mesh_device(mesh_shape)",
            )
        self._rearrange(new_shape, positions)

    def _rearrange(self, shape: MeshShape, positions: Positions) -> None:
        place_of = dict(zip(self.coords, self.positions, strict=True))
        numbers = {self.positions[i]: number for number, i in enumerate(self.local_positions)}
        self._lay_out(shape, positions)
        coord_at = dict(zip(self.positions, self.coords, strict=True))
        move = Move(
            {coord: coord_at[place] for coord, place in place_of.items()},
            [numbers[self.positions[i]] for i in self.local_positions],
        )
        for resident in self.residents:
            resident.follow(move)

    def close(self) -> None:
        """Give the devices back; its submeshes close with it. Closing twice does nothing.

        All ranks of the mesh close together, except one that is on its way out with an exception: that is what the others must hear of.
        """
        if not self.is_open:
            return
        for child in self._children:
            child.close()
        if self.parent is None and self.group.is_member and sys.exc_info()[1] is None:
            for finish in MeshDevice.finishing:
                finish(self)
            guard.collective(self.group, guard.Signature("close_mesh_device", shape=tuple(self._shape)))
        for heard in MeshDevice.closing:
            heard(self)
        self.is_open = False
        MeshDevice._roots.discard(self)

    def quiesce_devices(self) -> None:
        """Wait until all queues are empty: work is done when it is issued, so only the call is checked."""
        self.require_open("quiesce_devices")

    def require_open(self, action: str) -> None:
        """Raises RuntimeError when the mesh is closed."""
        if not self.is_open:
            raise fatal(
                f"{action}: {self} is closed",
                "this->is_initialized()",
                hint="close_mesh_device() comes after the last use of the mesh and of its tensors",
            )

    def __repr__(self) -> str:
        grid = "x".join(map(str, self._shape))
        return f"MeshDevice({grid} grid, {len(self.positions)} devices)"
