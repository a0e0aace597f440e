"""What a mesh device answers about itself: its view, node ids, compiled programs, sub-devices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import ClassVar

from mgd.lean import dataclass, field
from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.errors import fatal, incompatible, type_name
from tt_run.runtime.mesh.device_layout import DeviceLayout, local_range
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, coordinate_hint
from tt_run.runtime.mesh.geometry.numbers import CountedNumber, LabelledNumber, TypedNumber
from tt_run.runtime.mesh.geometry.ranges import MeshCoordinateRange
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.refusals import native_class


@native_class("ttnn._ttnn.fabric.FabricNodeId")
@dataclass(frozen=True, slots=True, repr=False)
class FabricNodeId(metaclass=Native):
    """A device in the fabric: mesh id and row-major number in that system mesh. Prints as `(M0, D6)`."""

    mesh_id: MeshId
    chip_id: int

    def __post_init__(self) -> None:
        if not isinstance(self.mesh_id, MeshId):
            raise TypeError(f"mesh_id must be a MeshId, not {self.mesh_id!r}")

    def __repr__(self) -> str:
        return f"FabricNodeId(M{int(self.mesh_id)}, D{self.chip_id})"


@native_class("ttnn._ttnn.fabric.MeshId", "__eq__")
class MeshId(TypedNumber, metaclass=Native):
    """The number of a mesh; comparing it with anything else raises TypeError."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MeshId):
            raise TypeError(f"a MeshId is compared with a MeshId, not {other!r}")
        return self.value == other.value

    __hash__ = TypedNumber.__hash__


@native("ttnn._ttnn.types.QueueId")
class QueueId(LabelledNumber, metaclass=Native):
    """The number of a command queue."""

    _bound_name = "ttnn._ttnn.types.QueueId"


@native("ttnn._ttnn.multi_device.SubcontextId")
class SubcontextId(CountedNumber, metaclass=Native):
    """The number of a sub-context of a job."""

    _bound_name = "ttnn._ttnn.multi_device.SubcontextId"


@native("ttnn._ttnn.multi_device.MeshDeviceView")
class MeshDeviceView(metaclass=Native):
    """Which devices of a mesh are here."""

    _bound_name = "ttnn._ttnn.multi_device.MeshDeviceView"

    def __init__(self, device: DeviceLayout) -> None:
        self._device = device

    def shape(self) -> MeshShape:
        """The extents of the mesh."""
        return self._device.shape

    def num_devices(self) -> int:
        """How many devices on all ranks."""
        return len(self._device.positions)

    def is_local(self, coord: MeshCoordinate) -> bool:
        """True when this rank hosts the device. Raises RuntimeError outside the mesh."""
        index = self._device.index_of(coord)
        if index is None:
            raise fatal(
                f"Coordinate {coord} not found in mesh {self._device.shape}",
                hint=coordinate_hint(self._device.shape),
            )
        return index in self._device.local_positions

    def get_local_mesh_coord_range(self) -> MeshCoordinateRange:
        """The range of coordinates on this rank. Raises RuntimeError when there is none."""
        found = local_range(self._device)
        if found is None:
            raise fatal(
                f"{self._device} has no local devices on this host.",
                hint="ask mesh_device.get_device_ids() first: it is empty on a rank that hosts none of the mesh",
            )
        return found


class ProgramCache:
    """Which programs a mesh has compiled: a program is known by its operation and the specs of its operands."""

    def __init__(self) -> None:
        self.enabled = True
        self.misses_allowed = True
        self._programs: set[object] = set()

    def use(self, program: object) -> bool:
        """True when the program was compiled before; compiles it otherwise. Raises RuntimeError when that is not allowed."""
        if program in self._programs:
            return True
        if not self.misses_allowed:
            raise fatal(
                "Device operation requires compilation, but program cache misses are not allowed",
                "cache_hit",
                hint="run the operation once before set_program_cache_misses_allowed(False)",
            )
        if self.enabled:
            self._programs.add(program)
        return False

    def __contains__(self, program: object) -> bool:
        return program in self._programs

    def clear(self) -> None:
        """Forget all programs."""
        self._programs.clear()

    def __len__(self) -> int:
        return len(self._programs)


@native_class("ttnn._ttnn.device.SubDeviceId")
@dataclass(frozen=True, slots=True)
class SubDeviceId(metaclass=Native):
    """Names a sub-device of the active layout by its place there."""

    value: int

    _bound_name: ClassVar[str] = "ttnn._ttnn.device.SubDeviceId"

    def __init__(self, id: int) -> None:
        object.__setattr__(self, "value", operator.index(id))

    def __int__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"SubDeviceId({self.value})"


@native("ttnn._ttnn.device.SubDevice")
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SubDevice(metaclass=Native):
    """The cores of one part of a device: one set of core ranges for each kind of core."""

    cores: Sequence[CoreRangeSet]

    _bound_name: ClassVar[str] = "ttnn._ttnn.device.SubDevice"

    def __post_init__(self) -> None:
        if not isinstance(self.cores, (list, tuple)) or not all(
            isinstance(kind, CoreRangeSet) for kind in self.cores
        ):
            raise incompatible(
                "__init__",
                ("__init__(self, cores: collections.abc.Sequence[ttnn._ttnn.tensor.CoreRangeSet]) -> None",),
                (self, self.cores),
            )

    def __repr__(self) -> str:
        return f"<{self._bound_name} object at {id(self):#x}>"


@native("ttnn._ttnn.device.SubDeviceManagerId")
@dataclass(frozen=True, slots=True, repr=False)
class SubDeviceManagerId(metaclass=Native):
    """Names a layout of sub-devices."""

    value: int

    _bound_name: ClassVar[str] = "ttnn._ttnn.device.SubDeviceManagerId"

    def __repr__(self) -> str:
        return f"<{self._bound_name} object at {id(self):#x}>"


@dataclass()
class SubDevices:
    """The layouts of sub-devices of a mesh. The emulation computes on whole devices: layouts change no values, only predicted times."""

    _layouts: dict[SubDeviceManagerId, tuple[object, ...]] = field(default_factory=dict)
    _made: int = 0
    loaded: SubDeviceManagerId | None = None
    stall_group: tuple[object, ...] = ()

    def create(self, sub_devices: object, local_l1_size: int = 0) -> SubDeviceManagerId:
        """Keep a layout and name it. Raises RuntimeError for no sub-device and for two that share a core."""
        if not isinstance(sub_devices, (list, tuple)):
            raise TypeError(f"sub_devices must be a list of SubDevice, not {type_name(sub_devices)}")
        if not sub_devices:
            raise fatal("sub_device_ids to stall must not be empty", hint="name at least one sub-device")
        _check_apart([one for one in sub_devices if isinstance(one, SubDevice)])
        self._made += 1
        name = SubDeviceManagerId(self._made)
        self._layouts[name] = tuple(sub_devices)
        return name

    def load(self, name: SubDeviceManagerId) -> None:
        """Make a layout the active one. Raises RuntimeError for an unknown one."""
        self._require(name)
        self.loaded = name

    def stall(self, numbers: Sequence[object]) -> None:
        """Wait for these sub-devices of the active layout only. Raises RuntimeError for one that it does not have."""
        count = 1 if self.loaded is None else len(self._layouts[self.loaded])
        for number in numbers:
            if isinstance(number, SubDeviceId) and int(number) >= count:
                raise fatal(
                    f"SubDevice index {int(number)} out of bounds {count}",
                    hint=f"ttnn.SubDeviceId(0) to ttnn.SubDeviceId({count - 1})",
                )
        self.stall_group = tuple(numbers)

    def part_with(self, cores: CoreRangeSet) -> int:
        """The number of the sub-device that has all of these cores in the active layout; 0 where none has."""
        active = () if self.loaded is None else self._layouts[self.loaded]
        for number, one in enumerate(active):
            if isinstance(one, SubDevice) and any(kind.contains(cores) for kind in one.cores):
                return number
        return 0

    def clear(self) -> None:
        """Go back to the whole device."""
        self.loaded = None
        self.stall_group = ()

    def remove(self, name: SubDeviceManagerId) -> None:
        """Forget a layout. Raises RuntimeError for an unknown or the active one."""
        self._require(name)
        if name == self.loaded:
            raise fatal(
                "Cannot remove active sub-device manager", hint="clear_loaded_sub_device_manager() first"
            )
        del self._layouts[name]

    def _require(self, name: SubDeviceManagerId) -> None:
        if not isinstance(name, SubDeviceManagerId):
            raise TypeError(f"sub_device_manager_id must be a SubDeviceManagerId, not {type_name(name)}")
        if name not in self._layouts:
            raise fatal(
                "Sub device manager does not exist",
                hint="create_sub_device_manager(…) returns the name of one",
            )


def _check_apart(sub_devices: Sequence[SubDevice]) -> None:
    """Raises RuntimeError when two sub-devices have a core in common."""
    for at, one in enumerate(sub_devices):
        for other in sub_devices[at + 1 :]:
            for mine, theirs in zip(one.cores, other.cores, strict=False):
                if theirs.subtract(mine).num_cores() != theirs.num_cores():
                    raise fatal(
                        "SubDevices specified for SubDeviceManager intersect",
                        hint="give each core to one of them only",
                    )
