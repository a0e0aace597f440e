"""`ttnn._ttnn.operations.core`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tuning.compute": "DeviceComputeKernelConfig ThrottleLevel WormholeComputeKernelConfig",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
