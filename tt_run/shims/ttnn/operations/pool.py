"""`ttnn.operations.pool`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.golden_helpers": "golden_to_output_dtype",
    "tt_run.runtime.ops.images.pooling": "global_avg_pool2d",
    "tt_run.runtime.ops.normalisation.channel_norms": "golden_rotate",
    "tt_run.runtime.ops.images.sample_places": "prepare_grid_sample_grid",
    "tt_run.runtime.ops.goldens.pool_goldens": """
        golden_adaptive_avg_pool2d golden_adaptive_max_pool2d golden_avg_pool2d golden_global_avg_pool2d golden_grid_sample
        golden_maxpool2d golden_upsample
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
