"""Blocking of matrix products over cores."""

from __future__ import annotations

from mgd.lean import dataclass, field
from tt_run.runtime.cores import CoreCoord, CoreRangeSet
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.refusals import native_class, with_note
from tt_run.runtime.tuning.activation import UnaryWithParam
from tt_run.runtime.tuning.base import JsonTuning, Tuning

Grid = CoreCoord | tuple[int, int]


@native("ttnn._ttnn.operations.matmul.MatmulProgramConfig")
class MatmulProgramConfig(metaclass=Native):
    """The kind of argument that takes any of the configurations below; make one of those."""

    def __init__(self) -> None:
        raise with_note(
            TypeError("ttnn._ttnn.operations.matmul.MatmulProgramConfig: no constructor defined!"),
            "make a ttnn.MatmulMultiCoreReuseMultiCastProgramConfig, or one of its kin",
        )


@native_class("ttnn._ttnn.operations.matmul.MatmulMultiCoreReuseProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class MatmulMultiCoreReuseProgramConfig(JsonTuning, metaclass=Native):
    """A product that reuses its operands on each core."""

    compute_with_storage_grid_size: Grid
    in0_block_w: int
    out_subblock_h: int
    out_subblock_w: int
    per_core_M: int
    per_core_N: int
    allowed_worker_cores: CoreRangeSet | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class _Blocked(JsonTuning):
    """A product in output blocks; a block that is not given is what a core computes."""

    compute_with_storage_grid_size: Grid
    in0_block_w: int
    out_subblock_h: int
    out_subblock_w: int
    out_block_h: int | None = None
    out_block_w: int | None = None
    per_core_M: int
    per_core_N: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.out_block_h = self.per_core_M if self.out_block_h is None else self.out_block_h
        self.out_block_w = self.per_core_N if self.out_block_w is None else self.out_block_w


@native_class("ttnn._ttnn.operations.matmul.MatmulMultiCoreReuseMultiCastProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class MatmulMultiCoreReuseMultiCastProgramConfig(_Blocked, metaclass=Native):
    """A product whose operands are multicast over rows and columns of cores."""

    transpose_mcast: bool
    fused_activation: UnaryWithParam | None = None
    fuse_batch: bool = True
    allowed_worker_cores: CoreRangeSet | None = None


@native_class("ttnn._ttnn.operations.matmul.MatmulMultiCoreReuseMultiCast1DProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class MatmulMultiCoreReuseMultiCast1DProgramConfig(_Blocked, metaclass=Native):
    """A product with one operand multicast to all cores."""

    fuse_batch: bool
    fused_activation: UnaryWithParam | None = None
    mcast_in0: bool
    gather_in0: bool = False
    hop_cores: CoreRangeSet = field(default_factory=CoreRangeSet)
    num_global_cb_receivers: int = 1
    untilize_out: bool = False
    allowed_worker_cores: CoreRangeSet | None = None
    stream_in1: bool = False


@native_class("ttnn._ttnn.operations.matmul.MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(JsonTuning, metaclass=Native):
    """A product whose second operand is spread over DRAM banks."""

    in0_block_w: int
    per_core_M: int
    per_core_N: int
    fused_activation: UnaryWithParam | None = None
    num_workers_per_dram_bank: int = 1


@native_class("ttnn._ttnn.operations.matmul.MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig(JsonTuning, metaclass=Native):
    """Batches of products whose operands are spread over DRAM banks by batch."""

    in0_block_w: int
    per_core_M: int
    per_core_N: int
    fused_activation: UnaryWithParam | None = None


@native_class("ttnn._ttnn.operations.experimental.MinimalMatmulConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class MinimalMatmulConfig(Tuning, metaclass=Native):
    """Blocking of `experimental.minimal_matmul`."""

    M_block_size: int = 1
    K_block_size: int = 1
    N_block_size: int = 1
    subblock_h: int = 1
    subblock_w: int = 1
    compute_with_storage_grid_size: Grid = (1, 1)
