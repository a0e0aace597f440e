"""`ttml.modules.module_base`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.modules.base": "ModuleBase AbstractModuleBase RunMode InferenceMode",
    "tt_run.runtime.train.modules.containers": "ModuleList ModuleDict",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
