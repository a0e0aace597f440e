"""`ttml.models.qwen38.gated_deltanet`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.qwen38": "Qwen38GatedDeltaNet fold_heads unfold_heads causal_conv1d_silu",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
