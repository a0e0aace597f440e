"""`ttml.common.sampling`: names only; how tokens are drawn."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.common.generate": "Sampling next_token",
    "tt_run.runtime.train.common.cached_text": "positions_to_tensor",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
