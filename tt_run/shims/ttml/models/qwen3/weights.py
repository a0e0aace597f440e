"""`ttml.models.qwen3.weights`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.weights": "load_weights_from_hf",
    "tt_run.runtime.train.models.loading": "unpermute_proj_rows=interleaved unpermute_norm_weights=interleaved",
    "tt_run.runtime.train.models.decoders.export": "repermute_proj_rows=halved repermute_norm_weights=halved",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
