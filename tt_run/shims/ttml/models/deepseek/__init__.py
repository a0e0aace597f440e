"""`ttml.models.deepseek`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.deepseek": "DeepSeek",
    "tt_run.runtime.train.models.decoders.mixture": "DeepSeekConfig",
    "tt_run.runtime.train.models.decoders.flops": "calculate_flops_per_token=deepseek",
    "tt_run.runtime.train.models.decoders.weights": "load_from_safetensors",
}
_SUBMODULES = (
    "autograd_ops",
    "flops",
    "mla",
    "moe",
    "moe_sparse",
    "moe_sparse_ep",
    "moe_sparse_tp",
    "torch_baseline",
    "transformer",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
