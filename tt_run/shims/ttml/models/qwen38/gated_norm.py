"""`ttml.models.qwen38.gated_norm`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.ops.gated_norm": "gated_rmsnorm",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
