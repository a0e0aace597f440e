"""`ttml.models.gpt2`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.gpt": "GPT2 GPT2TransformerConfig create_gpt2_model"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
