"""`ttnn.experimental.quasar.transformer`: attention under a second name, for chips of that architecture."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {}

__getattr__, __dir__ = _publish(globals(), _TABLE, operations="ttnn.transformer")
