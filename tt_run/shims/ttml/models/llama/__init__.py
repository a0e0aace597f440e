"""`ttml.models.llama`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.llama_forms": "Llama LlamaConfig",
    "tt_run.runtime.train.models.llama": """
        create_llama_model CppLlama=Llama CppLlamaConfig=LlamaConfig create_cpp_llama_model=create_llama_model
    """,
    "tt_run.runtime.train.models.decoders.llama": "LlamaBlock",
    "tt_run.runtime.train.models.decoders.llama_config": "LlamaRopeScalingConfig",
    "tt_run.runtime.train.models.decoders.weights": "load_from_safetensors",
    "tt_run.runtime.train.models.decoders.export": "save_to_hf_format",
    "tt_run.runtime.train.models.decoders.flops": "calculate_flops_per_token=llama",
    "tt_run.runtime.train.models.cache": "KvCache KvCacheConfig",
}
_SUBMODULES = (
    "autograd_ops",
    "embedding",
    "flops",
    "gqattn",
    "hf_exporter",
    "safetensors_loader",
    "transformer",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
