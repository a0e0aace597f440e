"""`ttnn._ttnn.operations.matmul`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        MatmulMultiCoreReuseMultiCast1DProgramConfig
        MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig
        MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig MatmulMultiCoreReuseMultiCastProgramConfig
        MatmulMultiCoreReuseProgramConfig addmm linear matmul matmul_batched_weights sparse_matmul
    """,
    "tt_run.runtime.tuning.matmul": "MatmulProgramConfig",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
