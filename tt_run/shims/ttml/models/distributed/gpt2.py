"""`ttml.models.distributed.gpt2`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.gpt": "create_gpt2_model=create_distributed_gpt2_model create_distributed_gpt2_model GPT2TransformerConfig DistributedGPT2Transformer=GPT2"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
