"""`ttml.models.qwen3`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.qwen3": """
        Qwen3 Qwen3Config Qwen3Model Qwen3Attention Qwen3DecoderLayer Qwen3MLP Qwen3RMSNorm Qwen3RopeScalingConfig RMSNormFunction ConcatLastDim build_attn_mask create_qwen3_config_from_hf
    """,
    "tt_run.runtime.train.models.decoders.weights": "load_from_hf load_from_safetensors",
}
_SUBMODULES = (
    "attention",
    "autograd_ops",
    "flops",
    "kv_cache",
    "rmsnorm",
    "safetensors_loader",
    "transformer",
    "weights",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
