"""`ttml.models.qwen38.loading`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.qwen38_files": "load_from_safetensors SKIPPED_PREFIXES",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
