"""`ttml.models.qwen38.fused_delta_rule`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.ops.delta_rule": "fused_chunk_gated_delta_rule fused_chunk_gated_delta_rule_flat MAX_HEADS",
    "tt_run.runtime.train.ops.along": "flat_l2_norm",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
