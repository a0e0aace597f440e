"""`ttml.models.nanogpt.pos_embedding`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.transformer": "PositionalEmbedding TrainablePositionalEmbedding"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
