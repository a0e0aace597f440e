"""`ttml.models.qwen38.lora`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.qwen38_lora": "ATTENTION_TARGETS DELTANET_TARGETS MLP_TARGETS default_targets build_lora_config apply_lora trainable_summary",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
