"""`ttnn.operations.conv2d`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tuning.conv": "PaddingMode Conv2dConfig Conv2dSliceConfig=Op2DSliceConfig Op2DSliceConfig SlidingWindowParallelConfig get_conv_output_dim Conv2dL1Full=SliceTypeEnum.L1Full Conv2dDRAMSliceHeight=SliceTypeEnum.DRAMSliceHeight Conv2dDRAMSliceWidth=SliceTypeEnum.DRAMSliceWidth Conv2dL1FullSliceConfig=L1_FULL",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
