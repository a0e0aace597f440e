"""`ttnn.core`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.cores": """
        divup roundup num_cores_to_corerangeset num_cores_to_corerangeset_in_subcoregrids
    """,
    "tt_run.runtime.tuning.compute": "WormholeComputeKernelConfig init_device_compute_kernel_config",
    "tt_run.runtime.tensor.printing": "set_printoptions",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
