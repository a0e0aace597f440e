"""`ttml.models.nanogpt`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.loading": "load_gpt2_from_safetensors=load_gpt2",
    "tt_run.runtime.train.models.gpt": "NanoGPT NanoGPTConfig NanoGPTExperimentalConfig create_nanogpt create_distributed_nanogpt",
    "tt_run.runtime.train.models.transformer": "GPTBlock GPTMLP LayerNorm MultiHeadAttention TrainablePositionalEmbedding PositionalEmbedding",
    "tt_run.runtime.train.modules.layers": "Embedding",
}

_SUBMODULES = (
    "embedding",
    "flops",
    "gpt_block",
    "gpt_mlp",
    "multi_head_attention",
    "pos_embedding",
    "safetensors_loader",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
