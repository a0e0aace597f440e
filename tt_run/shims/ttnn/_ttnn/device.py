"""`ttnn._ttnn.device`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.mesh.hardware": "Arch DispatchCoreType DispatchCoreAxis DispatchCoreConfig",
    "tt_run.runtime.mesh.view": "SubDevice SubDeviceId SubDeviceManagerId",
    "tt_run.runtime.mesh.opening": "get_arch_name",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
