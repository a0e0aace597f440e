"""`ttml.models.distributed.pipeline_parallel.llama`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.pipeline": "create_llama_model=create_pipeline_parallel_llama_model PipelineParallelConfig PipelineParallelLlama"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
