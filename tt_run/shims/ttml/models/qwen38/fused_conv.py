"""`ttml.models.qwen38.fused_conv`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.ops.depthwise": "fused_causal_conv1d_silu"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
