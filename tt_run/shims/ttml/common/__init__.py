"""`ttml.common`."""

from tt_run.runtime.exports import publish as _publish

_SUBMODULES = (
    "config",
    "data",
    "model_factory",
    "utils",
    "generate",
    "schedulers",
    "trainer",
    "checkpoints",
    "logs",
    "sampling",
    "pipeline",
    "performance",
    "memory_utils",
    "muon_optimizer",
    "profiler_utils",
)

__getattr__, __dir__ = _publish(globals(), {}, _SUBMODULES)
