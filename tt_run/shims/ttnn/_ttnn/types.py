"""`ttnn._ttnn.types`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tensor.memory": "CoreGrid",
    "tt_run.runtime.tensor.spec": "Shape",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
