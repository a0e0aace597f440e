"""`ttml.models.nanogpt.multi_head_attention`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.transformer": "MultiHeadAttention"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
