"""`ttml.models.llama.gqattn`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.llama": "GroupedQueryAttention",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
