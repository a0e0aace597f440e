"""`ttml.common.checkpoints`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.common.checkpoints": "Checkpoint save load apply latest export_safetensors import_safetensors"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
