"""`ttnn.kv_cache`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.ops.caches": "fill_cache_for_user_ update_cache_for_token_",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
