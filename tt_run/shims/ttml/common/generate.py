"""`ttml.common.generate`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.common.generate": "generate next_token Sampling",
    "tt_run.runtime.train.common.cached_text": "create_causal_mask_kv_cache tokens_to_tensor_kv_cache",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
