"""`ttnn._ttnn.operations.complex`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "complex_tensor",
    "tt_run.runtime.ops.elementwise.complex_numbers": "ComplexTensor",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
