"""`ttml.models.qwen3.weights`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.weights": "load_weights_from_hf",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
