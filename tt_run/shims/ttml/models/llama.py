"""`ttml.models.llama`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.llama": "Llama LlamaConfig LlamaBlock create_llama_model",
    "tt_run.runtime.train.models.cache": "KvCache KvCacheConfig",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
