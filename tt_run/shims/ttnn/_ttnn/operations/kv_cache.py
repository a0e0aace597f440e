"""`ttnn._ttnn.operations.kv_cache`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "fill_cache update_cache",
    "ttnn.kv_cache": "fill_cache_for_user_ update_cache_for_token_",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
