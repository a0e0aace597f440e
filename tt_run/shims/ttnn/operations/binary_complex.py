"""`ttnn.operations.binary_complex`: a module without names, as the reference's is."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {}

__getattr__, __dir__ = _publish(globals(), _TABLE)
