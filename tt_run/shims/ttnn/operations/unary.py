"""`ttnn.operations.unary`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tools.golden_helpers": "golden_to_output_dtype torch_geglu torch_reglu torch_swiglu",
    "ttnn": "GeluVariant SigmoidMode",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
