"""`ttml.ops.multi_head_utils`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.ops.shapes": "heads_creation heads_fusion grouped_heads_creation"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
