"""`ttnn.experimental`: operations as declared, and names."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.ops.program_configs": "MinimalMatmulConfig"}

__getattr__, __dir__ = _publish(globals(), _TABLE, operations="ttnn.experimental")
