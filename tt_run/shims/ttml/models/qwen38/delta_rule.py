"""`ttml.models.qwen38.delta_rule`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.ops.delta_rule": "chunk_gated_delta_rule wy_inverse",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
