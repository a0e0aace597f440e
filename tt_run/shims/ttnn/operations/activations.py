"""`ttnn.operations.activations`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.golden": "get_golden_function",
    "tt_run.runtime.tools.activation_goldens": "get_golden_function_for_activation",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
