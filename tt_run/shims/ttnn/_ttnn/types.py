"""`ttnn._ttnn.types`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tensor.spec.memory_config": "CoreGrid",
    "tt_run.runtime.tensor.spec.tensor_spec": "Shape",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
