"""`ttml.core`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.optimizers.clipping": "clip_grad_norm",
    "tt_run.runtime.train.autograd.profiler": "TTProfiler=Profiler",
    "tt_run.runtime.train.autograd.tensor": "empty_like zeros_like ones_like",
}
_SUBMODULES = ("distributed", "utils")

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
