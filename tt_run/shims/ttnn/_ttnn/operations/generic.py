"""`ttnn._ttnn.operations.generic`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "compute_program_descriptor_hash generic_op",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
