"""`ttnn._ttnn.operations.ternary_backward`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "addcdiv_bw addcmul_bw lerp_bw where_bw",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
