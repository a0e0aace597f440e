"""Settings that choose how a device computes. The emulation keeps them and checks their names; only `fused_activation` changes numbers.

Source: ttnn specification, section 8, and the signatures of 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tt_run.runtime.enums import MathFidelity
from tt_run.runtime.kernels.activations import Activation
from tt_run.runtime.tensor.spec.memory_config import CoreCoord, CoreGrid, CoreRangeSet

Grid = CoreCoord | CoreGrid | Sequence[int]


@dataclass(kw_only=True)
class WormholeComputeKernelConfig:
    """Precision settings of compute kernels."""

    math_fidelity: MathFidelity = MathFidelity.LoFi
    math_approx_mode: bool = True
    fp32_dest_acc_en: bool = False
    packer_l1_acc: bool = False
    dst_full_sync_en: bool = False
    throttle_level: object = None


def init_device_compute_kernel_config(
    arch: object,
    device_kernel_config: WormholeComputeKernelConfig | None = None,
    *,
    math_fidelity: MathFidelity = MathFidelity.LoFi,
    math_approx_mode: bool = True,
    fp32_dest_acc_en: bool = False,
    packer_l1_acc: bool = False,
    dst_full_sync_en: bool = False,
    throttle_level: object = None,
) -> WormholeComputeKernelConfig:
    """The given settings, or defaults; every architecture takes the same ones."""
    return device_kernel_config or WormholeComputeKernelConfig(
        math_fidelity=math_fidelity,
        math_approx_mode=math_approx_mode,
        fp32_dest_acc_en=fp32_dest_acc_en,
        packer_l1_acc=packer_l1_acc,
        dst_full_sync_en=dst_full_sync_en,
        throttle_level=throttle_level,
    )


@dataclass(kw_only=True)
class MatmulMultiCoreReuseProgramConfig:
    """Blocking of a product that reuses its operands on each core."""

    compute_with_storage_grid_size: Grid
    in0_block_w: int
    out_subblock_h: int
    out_subblock_w: int
    per_core_M: int
    per_core_N: int


@dataclass(kw_only=True)
class MatmulMultiCoreReuseMultiCastProgramConfig:
    """Blocking of a product whose operands are multicast over rows and columns of cores."""

    compute_with_storage_grid_size: Grid
    in0_block_w: int
    out_subblock_h: int
    out_subblock_w: int
    per_core_M: int
    per_core_N: int
    out_block_h: int | None = None
    out_block_w: int | None = None
    transpose_mcast: bool = False
    fused_activation: Activation | None = None
    fuse_batch: bool = True


@dataclass(kw_only=True)
class MatmulMultiCoreReuseMultiCast1DProgramConfig:
    """Blocking of a product with one operand multicast to all cores."""

    compute_with_storage_grid_size: Grid
    in0_block_w: int
    out_subblock_h: int
    out_subblock_w: int
    per_core_M: int
    per_core_N: int
    out_block_h: int | None = None
    out_block_w: int | None = None
    fuse_batch: bool = True
    fused_activation: Activation | None = None
    mcast_in0: bool = True
    gather_in0: bool = False
    hop_cores: CoreRangeSet | None = None
    num_global_cb_receivers: int = 1
    untilize_out: bool = False


@dataclass(kw_only=True)
class MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig:
    """Blocking of a product whose second operand is spread over DRAM banks."""

    in0_block_w: int
    per_core_M: int
    per_core_N: int
    fused_activation: Activation | None = None


@dataclass(kw_only=True)
class SDPAProgramConfig:
    """Chunking of attention."""

    compute_with_storage_grid_size: Grid
    sub_core_grids: CoreRangeSet | None = None
    q_chunk_size: int = 32
    k_chunk_size: int = 32
    exp_approx_mode: bool | None = None
    max_cores_per_head_batch: int = 16


@dataclass(kw_only=True)
class LayerNormDefaultProgramConfig:
    """Norms on interleaved tensors."""

    legacy_reduction: bool = False
    legacy_rsqrt: bool = False
    use_welford: bool = False


@dataclass(kw_only=True)
class LayerNormShardedMultiCoreProgramConfig:
    """Norms on tensors spread over cores."""

    compute_with_storage_grid_size: Grid
    subblock_w: int
    block_h: int
    block_w: int
    inplace: bool = False
    legacy_reduction: bool = False
    legacy_rsqrt: bool = False
    use_welford: bool = False


@dataclass(kw_only=True)
class SoftmaxDefaultProgramConfig:
    """Softmax on interleaved tensors."""


@dataclass(kw_only=True)
class SoftmaxShardedMultiCoreProgramConfig:
    """Softmax on tensors spread over cores."""

    compute_with_storage_grid_size: Grid
    subblock_w: int
    block_h: int
    block_w: int


@dataclass(kw_only=True)
class MinimalMatmulConfig:
    """Blocking of `experimental.minimal_matmul`."""

    M_block_size: int = 1
    K_block_size: int = 1
    N_block_size: int = 1
    subblock_h: int = 1
    subblock_w: int = 1
    compute_with_storage_grid_size: Grid = (1, 1)
