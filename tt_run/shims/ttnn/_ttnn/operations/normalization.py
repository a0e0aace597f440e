"""`ttnn._ttnn.operations.normalization`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tuning.blocks": """
        LayerNormDefaultProgramConfig
        LayerNormProgramConfig
        LayerNormShardedMultiCoreProgramConfig
        SoftmaxDefaultProgramConfig
        SoftmaxProgramConfig
        SoftmaxShardedMultiCoreProgramConfig
    """,
    "tt_run.runtime.tuning.choices": "DistributedLayerNormStage LayerNormType",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
