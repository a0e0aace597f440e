"""`ttml.distributed.mesh_runtime`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.mesh_runtime": "MeshRuntime get_runtime set_runtime",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
