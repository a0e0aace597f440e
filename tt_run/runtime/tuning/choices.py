"""Enumerations that only choose how hardware does a thing, with the reference's numbers."""

from __future__ import annotations

import enum

from tt_run.runtime.enums import NamedEnum
from tt_run.runtime.native.classes import native


@native("ttnn._ttnn.operations.binary.BinaryOpType")
class BinaryOpType(NamedEnum):
    """Functions of two tensors that a product or a norm may be told to fuse."""

    ADD = 0
    SUB = 1
    MUL = 2
    GT = 3
    LT = 4
    LE = 5
    GE = 6
    EQ = 7
    NE = 8
    SQUARED_DIFFERENCE = 9
    BIAS_GELU = 10
    LOGADDEXP = 11
    LOGICAL_AND = 12
    LOGICAL_OR = 13
    LOGICAL_XOR = 14
    LDEXP = 15
    LOGADDEXP2 = 16
    DIV = 17
    DIV_FLOOR = 18
    DIV_TRUNC = 19
    REMAINDER = 20
    FMOD = 21
    RSUB = 22
    POWER = 23
    BITWISE_XOR = 24
    BITWISE_AND = 25
    BITWISE_OR = 26
    LEFT_SHIFT = 27
    RIGHT_SHIFT = 28
    LOGICAL_RIGHT_SHIFT = 29
    QUANT = 30
    REQUANT = 31
    DEQUANT = 32
    MAXIMUM = 33
    MINIMUM = 34
    GCD = 35
    LCM = 36
    ADDALPHA = 37
    SUBALPHA = 38
    XLOGY = 39
    HYPOT = 40
    ATAN2 = 41
    NEXTAFTER = 42
    WHERE_TST = 43
    WHERE_TTS = 44
    ISCLOSE = 45
    SITU_GLU = 46


@native("ttnn._ttnn.operations.normalization.LayerNormType")
class LayerNormType(NamedEnum):
    """Which norm a fused operation computes."""

    LAYERNORM = 0
    RMSNORM = 1


@native("ttnn._ttnn.operations.normalization.DistributedLayerNormStage")
class DistributedLayerNormStage(NamedEnum):
    """Part of a norm over devices."""

    NOT_DISTRIBUTED = 0
    PRE_ALL_GATHER = 1
    POST_ALL_GATHER = 2


@native("ttnn._ttnn.operations.experimental.ccl_experimental.DispatchAlgorithm")
class DispatchAlgorithm(NamedEnum):
    """How tokens travel to the devices of their experts."""

    BROADCAST = 0
    SPARSE_UNICAST = 1
    SPARSE_MCAST_LINEAR = 2
    SPARSE_MCAST_SHORTEST_PATH = 3
    SPARSE_MCAST_SPLIT_BW = 4


@native("ttnn._ttnn.operations.experimental.ccl_experimental.WorkerMode")
class WorkerMode(NamedEnum):
    """How the cores that send tokens share their links."""

    DIRECT = 0
    MUX_TOKEN_SPLIT = 1
    MUX_PAYLOAD_SPLIT = 2


@native("ttnn._ttnn.operations.experimental.ccl_experimental.MMSignalAggregatorMode")
class MMSignalAggregatorMode(NamedEnum):
    """Whether the signals of a fused product are gathered first."""

    Auto = 0
    On = 1
    Off = 2


@native("ttnn._ttnn.types.CoreType")
class CoreType(NamedEnum):
    """Kinds of cores on a chip."""

    ARC = 0
    DRAM = 1
    ACTIVE_ETH = 2
    IDLE_ETH = 3
    PCIE = 4
    TENSIX = 5
    ROUTER_ONLY = 6
    SECURITY = 7
    L2CPU = 8
    DISPATCH = 9
    HARVESTED = 10
    ETH = 11
    WORKER = 12
    COUNT = 13
    UNSPECIFIED = 14


@native("ttnn._ttnn.operations.experimental.ccl_experimental.MoEActivationFunction")
class MoEActivationFunction(NamedEnum):
    """Activation between the two products of an expert."""

    SILU = 0
    SWIGLU = 1
    GELU = 2
    CLAMPED_SILU = 3


@native("ttnn._ttnn.fabric.FabricUDMMode")
class FabricUDMMode(NamedEnum):
    """Whether the fabric moves data for programs by itself."""

    DISABLED = 0
    ENABLED = 1


@native("ttnn._ttnn.fabric.FabricManagerMode")
class FabricManagerMode(NamedEnum):
    """Who sets the fabric up and takes it down."""

    DEFAULT = 3
    ENABLED = 0
    INIT_FABRIC = 1
    TERMINATE_FABRIC = 2


@native("ttnn._ttnn.fabric.FabricType")
class FabricType(enum.IntEnum):
    """Along which axes a mesh closes to rings: numbers, so that they may be joined with `|`."""

    MESH = 1
    TORUS_X = 2
    TORUS_Y = 4
    TORUS_XY = 6

    def __repr__(self) -> str:
        return f"FabricType.{self.name}"

    __str__ = __repr__


@native("ttnn._ttnn.mcast_host.TransferMode")
class TransferMode(NamedEnum):
    """How a value reaches several cores."""

    Multicast = 0
    ChainUnicast = 1


@native("ttnn._ttnn.operations.data_movement.TileReshapeMapMode")
class TileReshapeMapMode(NamedEnum):
    """Whether `reshape` keeps the map between tiles."""

    CACHE = 0
    RECREATE = 1


@native("ttnn._ttnn.operations.transformer.SparseKVFormat")
class SparseKVFormat(NamedEnum):
    """How sparse attention stores keys and values."""

    BF16 = 0
    FP8_E4M3 = 1
    SCALED_FP8 = 2


@native("ttnn._ttnn.operations.transformer.ChunkGdnWyInverse")
class ChunkGdnWyInverse(NamedEnum):
    """How chunked gated delta rules invert their triangular factor."""

    AUTO = 0
    HORNER = 1
    FORWARD_SUBSTITUTION = 2


@native("ttnn._ttnn.operations.experimental.RoutedExpertActivation")
class RoutedExpertActivation(NamedEnum):
    """Activation inside a routed expert."""

    Silu = 0
    SwiGluOai = 1
    SituGlu = 2
    ClampedSiluGlu = 3


@native("ttnn._ttnn.operations.experimental.RGBRange")
class RGBRange(NamedEnum):
    """Range of pixel values."""

    MinusOneToOne = 0
    ZeroToOne = 1


@native("ttnn._ttnn.operations.experimental.YUVColorSpace")
class YUVColorSpace(NamedEnum):
    """Standard of a YUV conversion."""

    BT601 = 0
    BT709 = 1
    BT2020 = 2


@native("ttnn._ttnn.operations.experimental.YUVFormat")
class YUVFormat(NamedEnum):
    """Order of a YUV image's planes."""

    YUV420Planar = 0


@native("ttnn._ttnn.operations.experimental.YUVRange")
class YUVRange(NamedEnum):
    """Range of a YUV image's values."""

    Full = 0
    Limited = 1


@native("ttnn._ttnn.types.NOC")
class NOC(enum.Enum):
    """A network on chip; each has two names."""

    RISCV_0_default = 0
    RISCV_1_default = 1
    NOC_0 = RISCV_0_default
    NOC_1 = RISCV_1_default

    def __repr__(self) -> str:
        return f"NOC.{self.name}"

    __str__ = __repr__


@native("ttnn._ttnn.operations.moreh.MorehSoftmaxOpParallelizationStrategy")
class MorehSoftmaxOpParallelizationStrategy(NamedEnum):
    """How moreh's softmax is spread over cores."""

    NONE = 0
    SMALL_W = 1
    SMALL_H = 2
    LARGE_W = 3
    LARGE_H = 4
    LARGE_C = 5


@native("ttnn._ttnn.operations.moreh.MorehSoftmaxBackwardOpParallelizationStrategy")
class MorehSoftmaxBackwardOpParallelizationStrategy(NamedEnum):
    """How the gradient of moreh's softmax is spread over cores."""

    NONE = 0
    SMALL_W = 1
    SMALL_H = 2
    LARGE_W = 3
    LARGE_H = 4
    LARGE_C = 5


@native("ttnn._ttnn.operations.moreh.MorehSoftmaxBackwardOp")
class MorehSoftmaxBackwardOp(NamedEnum):
    """Which of the three a gradient is of."""

    SOFTMAX = 0
    SOFTMIN = 1
    LOGSOFTMAX = 2


@native("ttnn._ttnn.operations.moreh.MorehSoftmaxOp")
class MorehSoftmaxOp(NamedEnum):
    """Which of the three is computed."""

    SOFTMAX = 0
    SOFTMIN = 1
    LOGSOFTMAX = 2
