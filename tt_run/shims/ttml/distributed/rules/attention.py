"""`ttml.distributed.rules.attention`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.rules": "sdpa_rule ring_sdpa_rule grouped_heads_creation_rule heads_creation_rule heads_fusion_rule rope_rule embedding_rule reshape_rule",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
