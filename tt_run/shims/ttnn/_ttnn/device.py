"""`ttnn._ttnn.device`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.mesh.hardware": "Arch DispatchCoreType DispatchCoreAxis DispatchCoreConfig",
    "tt_run.runtime.mesh.view": "SubDevice SubDeviceId SubDeviceManagerId",
    "tt_run.runtime.mesh.opening": "get_arch_name GetNumAvailableDevices=get_num_devices GetNumPCIeDevices=get_num_pcie_devices",
    "tt_run.runtime.mesh.queries": """
        DEFAULT_L1_SMALL_SIZE DEFAULT_TRACE_REGION_SIZE DEFAULT_WORKER_L1_SIZE GetPCIeDeviceID=pcie_device_id
        ReadDeviceProfiler=read_device_profiler EnableMemoryReports=enable_memory_reports
        DisableMemoryReports=disable_memory_reports get_dispatch_core_axis=dispatch_core_axis
        get_dram_alignment=dram_alignment get_l1_alignment=l1_alignment
    """,
    "tt_run.runtime.memory.views": "MemoryView get_memory_view",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
