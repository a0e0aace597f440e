"""`ttml.models.distributed.pipeline_parallel`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.pipeline": "PipelineParallelConfig PipelineParallelLlama"}
_SUBMODULES = ("llama",)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
