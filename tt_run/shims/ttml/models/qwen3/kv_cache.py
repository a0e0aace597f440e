"""`ttml.models.qwen3.kv_cache`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.cache": "KVCache=GrowingCache"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
