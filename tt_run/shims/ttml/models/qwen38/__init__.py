"""`ttml.models.qwen38`: the text model."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.qwen38_config": "Qwen38Config",
    "tt_run.runtime.train.models.decoders.qwen38": "Qwen38GatedAttention Qwen38GatedDeltaNet Qwen38Block Qwen38MLP Qwen38RMSNorm Qwen38Transformer",
    "tt_run.runtime.train.ops.delta_rule": "chunk_gated_delta_rule wy_inverse",
}
_SUBMODULES = (
    "attention",
    "autograd_ops",
    "checkpoint",
    "config",
    "delta_rule",
    "flops",
    "fused_conv",
    "fused_delta_rule",
    "gated_deltanet",
    "gated_norm",
    "loading",
    "lora",
    "parallel",
    "transformer",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
