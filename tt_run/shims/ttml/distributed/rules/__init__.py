"""`ttml.distributed.rules`."""

from tt_run.runtime.exports import publish as _publish

_SUBMODULES = ("attention", "collectives", "elementwise", "loss", "matmul", "normalization", "registry")

__getattr__, __dir__ = _publish(globals(), {}, _SUBMODULES)
