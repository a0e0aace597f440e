"""`ttml.models.distributed`."""

from tt_run.runtime.exports import publish as _publish

_SUBMODULES = ("gpt2", "llama", "nanogpt", "pipeline_parallel")

__getattr__, __dir__ = _publish(globals(), {}, _SUBMODULES)
