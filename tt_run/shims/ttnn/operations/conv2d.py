"""`ttnn.operations.conv2d`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        Op2DL1Full Op2DDRAMSliceHeight Op2DDRAMSliceWidth Op2DL1FullSliceConfig prepare_conv_weights prepare_conv_bias
        prepare_conv_transpose2d_weights prepare_conv_transpose2d_bias
    """,
    "tt_run.runtime.tools.golden_helpers": "golden_to_output_dtype",
    "tt_run.runtime.tools.activation_goldens": "get_golden_function_for_activation",
    "tt_run.runtime.tuning.conv": "PaddingMode Conv2dConfig Conv2dSliceConfig=Op2DSliceConfig Op2DSliceConfig SlidingWindowParallelConfig get_conv_output_dim Conv2dL1Full=SliceTypeEnum.L1Full Conv2dDRAMSliceHeight=SliceTypeEnum.DRAMSliceHeight Conv2dDRAMSliceWidth=SliceTypeEnum.DRAMSliceWidth Conv2dL1FullSliceConfig=L1_FULL",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
