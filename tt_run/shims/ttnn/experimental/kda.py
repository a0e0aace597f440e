"""`ttnn.experimental.kda`: operations as declared."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tuning.delta_rule": "QkvCausalConv1dSiluProgramConfig"}

__getattr__, __dir__ = _publish(globals(), _TABLE, operations="ttnn.experimental.kda")
