"""`ttnn._ttnn.operations.complex_unary_backward`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "angle_bw conj_bw imag_bw polar_bw real_bw",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
