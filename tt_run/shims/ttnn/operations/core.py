"""`ttnn.operations.core`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.ops.goldens.creation_goldens": "_typecast_golden_function=typecast",
    "ttnn": "from_torch to_torch load_tensor dump_tensor as_tensor",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
