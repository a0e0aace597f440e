"""`ttml.models`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.runner": "RunnerType WeightTyingType memory_efficient_runner",
    "tt_run.runtime.train.parallel.tensor_parallel": "EmbeddingPlacement",
    "tt_run.runtime.train.models.gpt": "NanoGPT NanoGPTConfig create_nanogpt",
    "tt_run.runtime.train.models.transformer": "BaseTransformer",
    "tt_run.runtime.train.models.cache": "KvCache KvCacheConfig",
}
_SUBMODULES = (
    "autograd_ops",
    "bert",
    "linear_regression",
    "mlp",
    "nanogpt",
    "gpt2",
    "llama",
    "qwen3",
    "qwen38",
    "deepseek",
    "wan2_2",
    "distributed",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
