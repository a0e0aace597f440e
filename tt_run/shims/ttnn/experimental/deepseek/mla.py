"""`ttnn.experimental.deepseek.mla`: operations as declared."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {}

__getattr__, __dir__ = _publish(globals(), _TABLE, operations="ttnn.experimental.deepseek.mla")
