"""`ttnn._ttnn.operations.complex_unary`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "angle conj imag is_imag is_real polar real",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
