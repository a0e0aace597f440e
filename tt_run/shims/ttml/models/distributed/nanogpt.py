"""`ttml.models.distributed.nanogpt`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.gpt": "create_nanogpt=create_distributed_nanogpt create_distributed_nanogpt NanoGPTConfig"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
