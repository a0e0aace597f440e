"""`ttml.modules`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.modules.base": "ModuleBase AbstractModuleBase NamedParameters RunMode InferenceMode",
    "tt_run.runtime.train.modules.parameter": "Parameter Buffer TensorMetadata",
    "tt_run.runtime.train.modules.lora": "LoraConfig LoraModel LoraLinear",
    "tt_run.runtime.train.modules.containers": "ModuleList ModuleDict",
    "tt_run.runtime.train.modules.linear": "LinearLayer ColumnParallelLinear RowParallelLinear VocabParallelEmbedding FeatureParallelEmbedding",
    "tt_run.runtime.train.modules.layers": "Embedding LayerNormLayer RMSNormLayer DropoutLayer",
}
_SUBMODULES = ("distributed", "embedding", "linear", "lora", "module_base", "parameter")

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
