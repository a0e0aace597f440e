"""`ttnn._ttnn.operations.matmul`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tuning.matmul": """
        MatmulMultiCoreReuseMultiCast1DProgramConfig
        MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig
        MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig
        MatmulMultiCoreReuseMultiCastProgramConfig
        MatmulMultiCoreReuseProgramConfig
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
