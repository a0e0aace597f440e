"""`ttnn.operations.matmul`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.golden_helpers": "golden_to_output_dtype",
    "tt_run.runtime.tools.golden": "get_golden_function",
    "tt_run.runtime.tools.activation_goldens": "get_golden_function_for_activation",
    "tt_run.runtime.tuning.matmul": """
        MatmulProgramConfig MatmulMultiCoreReuseProgramConfig MatmulMultiCoreReuseMultiCastProgramConfig
        MatmulMultiCoreReuseMultiCast1DProgramConfig MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig
        MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
