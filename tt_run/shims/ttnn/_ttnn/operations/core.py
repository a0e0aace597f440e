"""`ttnn._ttnn.operations.core`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        DeviceComputeKernelConfig ThrottleLevel WormholeComputeKernelConfig allocate_tensor_on_device
        allocate_tensor_on_host copy_device_to_host_tensor copy_host_to_device_tensor
        copy_host_to_device_tensor_partial deallocate from_device grid_to_cores
        init_device_compute_kernel_config num_cores_to_corerangeset
        num_cores_to_corerangeset_in_subcoregrids reallocate split_work_to_cores to_device to_dtype
        to_layout to_memory_config unsqueeze_to_4D
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
