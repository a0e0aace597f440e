"""`ttml.models.distributed.llama`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.llama": "create_llama_model=create_distributed_llama_model create_distributed_llama_model LlamaConfig DistributedLlama=Llama"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
