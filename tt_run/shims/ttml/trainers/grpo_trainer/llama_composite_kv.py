"""`ttml.trainers.grpo_trainer.llama_composite_kv`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.llama_forms": "LlamaCompositeKV=Llama",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
