"""`ttnn._ttnn.operations.embedding`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "EmbeddingsType embedding",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
