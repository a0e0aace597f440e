"""`ttnn._ttnn.device`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.queues": """
        synchronize_device
    """,
    "tt_run.runtime.trace": """
        is_trace_capture_active
    """,
    "tt_run.runtime.mesh": """
        close_device open_device
    """,
    "tt_run.runtime.mesh.device_functions": """
        ClearDefaultDevice=clear_default_device SetRootDir=set_root_dir IsProgramRealtimeProfilerActive=is_program_realtime_profiler_active create_dispatch_core_config pad_to_tile_shape
    """,
    "tt_run.runtime.tensor.conversion.copies": "deallocate_buffers",
    "tt_run.runtime.mesh.hardware": "Arch DispatchCoreType DispatchCoreAxis",
    "tt_run.runtime.mesh.workers": "DispatchCoreConfig",
    "tt_run.runtime.mesh.view": "SubDevice SubDeviceId SubDeviceManagerId",
    "tt_run.runtime.mesh.opening": "get_arch_name GetNumAvailableDevices=get_num_devices GetNumPCIeDevices=get_num_pcie_devices CloseDevice=close_device CloseDevices=close_devices CreateDevice=create_device CreateDevices=create_devices GetDefaultDevice=get_default_device SetDefaultDevice=set_default_device",
    "tt_run.runtime.mesh.device_queries": """
        is_asynchronous_slow_dispatch_enabled ClearKernelCache=clear_kernel_cache
        DEFAULT_L1_SMALL_SIZE DEFAULT_TRACE_REGION_SIZE DEFAULT_WORKER_L1_SIZE GetPCIeDeviceID=pcie_device_id
        ReadDeviceProfiler=read_device_profiler EnableMemoryReports=enable_memory_reports
        DisableMemoryReports=disable_memory_reports get_dispatch_core_axis=dispatch_core_axis
        get_dram_alignment=dram_alignment get_l1_alignment=l1_alignment disable_asynchronous_slow_dispatch enable_asynchronous_slow_dispatch get_optimal_dram_bank_to_logical_worker_assignment=dram_bank_workers initialize_fast_dispatch=begin_fast_dispatch terminate_fast_dispatch=end_fast_dispatch
    """,
    "tt_run.runtime.memory.views": "MemoryView get_memory_view GetMemoryView=get_memory_view get_max_worker_l1_unreserved_size=max_worker_l1_bytes GetAllocatorBaseAddress=allocator_base_address DumpDeviceMemoryState=dump_memory_state",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
