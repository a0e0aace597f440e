"""The enumerations of `ttnn`, with the reference's numbers and texts.

They sit below mesh and tensor because both need some of them. Text is `DataType.BFLOAT16` for str and repr alike; inside
tensor and memory texts the C++ spelling `DataType::BFLOAT16` is used: `cpp(member)`.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from tt_run.runtime.native.classes import found_at, home_of, native


class _Named(enum.EnumMeta):
    """The kind of the enumerations: a name that one has not is told with those that it has."""

    if not TYPE_CHECKING:  # checkers know the members

        def __getattr__(cls, name: str) -> Any:
            members: dict[str, Any] = cls.__dict__.get("_member_map_", {})
            if name in members:  # Python 3.10 asks here for each
                return members[name]
            if name.startswith("_"):
                raise AttributeError(name)
            told = f"type object {cls.__name__!r} has no attribute {name!r}"
            if len(members) <= _LISTED:
                told += f"; it has {', '.join(members)}"
            raise AttributeError(told, name=name, obj=cls)


_LISTED = 16


class NamedEnum(enum.Enum, metaclass=_Named):
    """An enumeration whose repr is its qualified name, as the reference prints it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    __str__ = __repr__

    # Enum hashes the name on every lookup; members are singletons, so identity is the same answer sooner.
    __hash__ = object.__hash__

    def __int__(self) -> int:
        return int(self.value)

    @property
    def __name__(self) -> str:
        """The name of a member, as the reference's enumerations have it."""
        return self.name

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return _member, (*home_of(type(self)), self.name)


def _member(module: str, name: str, member: str) -> NamedEnum:
    """What a pickle of a member calls."""
    kind: type[NamedEnum] = found_at(module, name)
    return kind[member]


def cpp(member: NamedEnum) -> str:
    """The spelling inside the texts of tensors and memory configurations: `DataType::BFLOAT16`."""
    return f"{type(member).__name__}::{member.name}"


@native("ttnn._ttnn.tensor.DataType")
class DataType(NamedEnum):
    """Element type of a tensor."""

    BFLOAT16 = 0
    FLOAT32 = 1
    UINT32 = 2
    BFLOAT8_B = 3
    BFLOAT4_B = 4
    UINT8 = 5
    UINT16 = 6
    INT32 = 7
    FP8_E4M3 = 8
    INT8 = 9
    INVALID = 10


@native("ttnn._ttnn.tensor.Layout")
class Layout(NamedEnum):
    """Order of a tensor's elements in memory."""

    ROW_MAJOR = 0
    TILE = 1
    INVALID = 2


@native("ttnn._ttnn.tensor.StorageType")
class StorageType(NamedEnum):
    """Where the shards of a tensor live."""

    HOST = 0
    DEVICE = 1


@native("ttnn._ttnn.tensor.BufferType")
class BufferType(NamedEnum):
    """Memory of a device that holds a buffer."""

    DRAM = 0
    L1 = 1
    L1_SMALL = 3
    TRACE = 4


@native("ttnn._ttnn.tensor.TensorMemoryLayout")
class TensorMemoryLayout(NamedEnum):
    """How a buffer is spread over the cores or banks of one device."""

    INTERLEAVED = 0
    HEIGHT_SHARDED = 2
    WIDTH_SHARDED = 3
    BLOCK_SHARDED = 4
    ND_SHARDED = 5


HEIGHT_SHARDED = TensorMemoryLayout.HEIGHT_SHARDED
WIDTH_SHARDED = TensorMemoryLayout.WIDTH_SHARDED
BLOCK_SHARDED = TensorMemoryLayout.BLOCK_SHARDED


@native("ttnn._ttnn.tensor.ShardOrientation")
class ShardOrientation(NamedEnum):
    """Order in which cores receive the shards of one device's buffer."""

    ROW_MAJOR = 0
    COL_MAJOR = 1


@native("ttnn._ttnn.tensor.ShardShapeAlignment")
class ShardShapeAlignment(NamedEnum):
    """Whether a shard's shape is rounded up to the page."""

    NONE = 0
    REQUIRED = 1
    RECOMMENDED = 2


@native("ttnn._ttnn.tensor.ShardDistributionStrategy")
class ShardDistributionStrategy(NamedEnum):
    """In which order shards of more than two dimensions go to cores."""

    ROUND_ROBIN_1D = 0
    GRID_2D = 1
    CONTIGUOUS_1D = 2


@native("ttnn.types.ShardStrategy")
class ShardStrategy(NamedEnum):
    """Argument of `create_sharded_memory_config`: which tensor dimensions are cut over cores."""

    HEIGHT = 1
    WIDTH = 2
    BLOCK = 3

    def __repr__(self) -> str:
        # An enumeration of Python in the reference, unlike the others.
        return f"<{self}: {self.value}>"


@native("ttnn._ttnn.operations.ccl.Topology")
class Topology(NamedEnum):
    """Wiring along which a collective moves its data."""

    Ring = 2
    Linear = 1
    Mesh = 3
    Torus = 4


@native("ttnn._ttnn.fabric.FabricConfig")
class FabricConfig(NamedEnum):
    """Routing set up over the ethernet links of a system."""

    DISABLED = 0
    FABRIC_1D = 2
    FABRIC_1D_RING = 3
    FABRIC_1D_NEIGHBOR_EXCHANGE = 1
    FABRIC_2D = 4
    FABRIC_2D_TORUS_XY = 7
    FABRIC_2D_TORUS_X = 5
    FABRIC_2D_TORUS_Y = 6
    CUSTOM = 8


@native("ttnn._ttnn.fabric.FabricReliabilityMode")
class FabricReliabilityMode(NamedEnum):
    """What fabric start-up does about missing links."""

    STRICT_INIT = 0
    RELAXED_INIT = 1
    DYNAMIC_RECONFIG = 2


@native("ttnn._ttnn.fabric.FabricTensixConfig")
class FabricTensixConfig(NamedEnum):
    """Extension of the fabric into compute cores."""

    DISABLED = 0
    MUX = 1


@native("ttnn._ttnn.operations.reduction.ReduceType")
class ReduceType(NamedEnum):
    """Reduction that a collective applies."""

    Sum = 0
    Mean = 1
    Max = 2
    Min = 3
    Std = 4
    Var = 5
    Prod = 6


@native("ttnn._ttnn.tensor.MathFidelity")
class MathFidelity(NamedEnum):
    """Number of passes of the matrix engine."""

    LoFi = 0
    HiFi2 = 2
    HiFi3 = 3
    HiFi4 = 4
    Invalid = 255


@native("ttnn._ttnn.tensor.DumpTensorMode")
class DumpTensorMode(NamedEnum):
    """Who writes the file of a distributed tensor: all ranks jointly, or each rank its own."""

    DISTRIBUTED_GATHER = 0
    LOCAL = 1
