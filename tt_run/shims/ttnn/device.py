"""`ttnn.device`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.mesh": "MeshDevice Device=MeshDevice open_device close_device",
    "tt_run.runtime.mesh.opening": """
        CreateDevice=create_device CreateDevices=create_devices CloseDevice=close_device
        CloseDevices=close_devices manage_device SetDefaultDevice=set_default_device
        GetDefaultDevice=get_default_device get_num_devices get_num_pcie_devices get_device_ids
        get_pcie_device_ids get_arch_name GetNumAvailableDevices=get_num_devices
        GetNumPCIeDevices=get_num_pcie_devices
    """,
    "tt_run.runtime.mesh.hardware": "Arch DispatchCoreType DispatchCoreAxis DispatchCoreConfig",
    "tt_run.runtime.queues": "synchronize_device",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
