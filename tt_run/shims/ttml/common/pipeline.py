"""`ttml.common.pipeline`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.common.pipeline": "PipelineTrainer shared_token"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
