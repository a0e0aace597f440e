"""`ttml.models.nanogpt.gpt_block`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.transformer": "GPTBlock LayerNorm GPTMLP MultiHeadAttention"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
