"""`ttnn._ttnn.operations.experimental.quasar`: configurations and operations under a second name, for chips of that architecture."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn.experimental.quasar": "transformer",
    "tt_run.runtime.ops.data_movement.sharded_movement": "padded_slice",
    "tt_run.runtime.ops.data_movement.written_parts": "slice_write",
    "tt_run.runtime.tuning.matmul": """
        MatmulMultiCoreReuseProgramConfig MatmulMultiCoreReuseMultiCastProgramConfig
        MatmulMultiCoreReuseMultiCast1DProgramConfig MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig
        MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE, operations="ttnn")
