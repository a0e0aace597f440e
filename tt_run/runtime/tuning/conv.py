"""Slicing and blocking of convolutions and pools. Of these settings only the fused activation, `weights_dtype`, `output_layout` and
`padding_mode` reach a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from mgd.lean import dataclass, field
from tt_run.runtime.cores import CoreCoord, CoreRangeSet
from tt_run.runtime.enums import DataType, Layout, NamedEnum, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.fields import Checked
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.tuning.activation import UnaryWithParam
from tt_run.runtime.tuning.base import Tuning


@native("ttnn._ttnn.operations.conv.PaddingMode")
class PaddingMode(NamedEnum):
    """What lies around the borders of an image."""

    Zeros = 0
    Replicate = 1


@native_class("ttnn._ttnn.operations.conv.Conv2dConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class Conv2dConfig(Tuning, metaclass=Native):
    """Settings of `conv1d`, `conv2d` and `conv_transpose2d`."""

    weights_dtype: DataType | None = None
    activation: UnaryWithParam | None = None
    deallocate_activation: bool = False
    reallocate_halo_output: bool = True
    config_tensors_in_dram: bool = False
    act_block_h_override: int = 0
    act_block_w_div: int = 1
    reshard_if_not_optimal: bool = False
    override_sharding_config: bool = False
    shard_layout: TensorMemoryLayout | None = None
    core_grid: CoreRangeSet | None = None
    transpose_shards: bool = False
    output_layout: Layout = Layout.TILE
    enable_act_double_buffer: bool = False
    enable_weights_double_buffer: bool = False
    full_inner_dim: bool = False
    enable_kernel_stride_folding: bool | None = None
    enable_activation_reuse: bool = False
    force_split_reader: bool | None = None
    override_output_sharding_config: bool = False
    padding_mode: PaddingMode = PaddingMode.Zeros


@native_class("ttnn._ttnn.operations.experimental.Conv3dConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class Conv3dConfig(Tuning, metaclass=Native):
    """Settings of `experimental.conv3d`."""

    weights_dtype: DataType = DataType.BFLOAT16
    output_layout: Layout = Layout.ROW_MAJOR
    T_out_block: int = 1
    W_out_block: int = 1
    H_out_block: int = 1
    C_out_block: int = 0
    C_in_block: int = 0
    dilation: Sequence[int] = field(default_factory=lambda: [1, 1, 1])
    alignment: int = 32
    compute_with_storage_grid_size: CoreCoord | tuple[int, int] = (1, 1)
    enable_fp32_operand_split: bool = False


@native("ttnn._ttnn.operations.sliding_window.Op2DSliceConfig.SliceTypeEnum")
class SliceTypeEnum(NamedEnum):
    """Along what an image is cut when it does not fit into L1."""

    L1Full = 2
    DRAMSliceHeight = 0
    DRAMSliceWidth = 1


_SLICE_TEXTS = {
    SliceTypeEnum.L1Full: "L1_FULL",
    SliceTypeEnum.DRAMSliceHeight: "DRAM_HEIGHT",
    SliceTypeEnum.DRAMSliceWidth: "DRAM_WIDTH",
}


@native_class("ttnn._ttnn.operations.sliding_window.Op2DSliceConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class Op2DSliceConfig(Checked, metaclass=Native):
    """How images in DRAM are cut into slices; 0 slices lets the operation choose."""

    SliceTypeEnum: ClassVar[type[NamedEnum]] = SliceTypeEnum

    slice_type: NamedEnum
    num_slices: int = 0

    def __repr__(self) -> str:
        text = _SLICE_TEXTS[self.slice_type]  # type: ignore[index]
        return f"Op2DSliceConfig(slice_type=SliceType::{text},num_slices={self.num_slices})"


L1_FULL = Op2DSliceConfig(slice_type=SliceTypeEnum.L1Full)
"""No slicing: the whole image lies in L1."""


@native_class("ttnn._ttnn.operations.sliding_window.ParallelConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class SlidingWindowParallelConfig(Checked, metaclass=Native):
    """Over which cores a window slides."""

    grid: CoreRangeSet
    shard_scheme: TensorMemoryLayout
    shard_orientation: ShardOrientation


def get_conv_output_dim(input: int, window: int, stride: int = 1, pad: int = 0, dilation: int = 1) -> int:
    """Extent of a convolution's result along one dimension, for the padding of one side."""
    return (input + 2 * pad - dilation * (window - 1) - 1) // stride + 1
