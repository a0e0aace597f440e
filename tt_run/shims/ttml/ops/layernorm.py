"""`ttml.ops.layernorm`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.ops.norms": "layernorm composite_layernorm"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
