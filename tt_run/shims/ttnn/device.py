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
    "tt_run.runtime.mesh.device_queries": """
        setup_fast_dispatch initialize_fast_dispatch=begin_fast_dispatch terminate_fast_dispatch=end_fast_dispatch
        get_optimal_dram_bank_to_logical_worker_assignment=dram_bank_workers
        DEFAULT_L1_SMALL_SIZE DEFAULT_TRACE_REGION_SIZE is_blackhole is_wormhole_b0 ReadDeviceProfiler=read_device_profiler GetPCIeDeviceID=pcie_device_id
        EnableMemoryReports=enable_memory_reports DisableMemoryReports=disable_memory_reports
        get_dispatch_core_axis=dispatch_core_axis get_dram_alignment=dram_alignment
        get_l1_alignment=l1_alignment enable_asynchronous_slow_dispatch disable_asynchronous_slow_dispatch is_asynchronous_slow_dispatch_enabled ClearKernelCache=clear_kernel_cache
    """,
    "tt_run.runtime.tensor.conversion.copies": "DeallocateBuffers=deallocate_buffers",
    "tt_run.runtime.tuning.compute": "init_device_compute_kernel_config",
    "tt_run.runtime.mesh.view": "SubDevice SubDeviceId SubDeviceManagerId",
    "tt_run.runtime.trace": "is_trace_capture_active",
    "tt_run.runtime.mesh.device_functions": "SetRootDir=set_root_dir IsProgramRealtimeProfilerActive=is_program_realtime_profiler_active",
    "tt_run.runtime.mesh.hardware": "Arch DispatchCoreType DispatchCoreAxis",
    "tt_run.runtime.mesh.workers": "DispatchCoreConfig",
    "tt_run.runtime.queues": "synchronize_device",
    "tt_run.runtime.memory.views": """
        get_memory_view get_max_worker_l1_unreserved_size=max_worker_l1_bytes
        get_allocator_base_address=allocator_base_address dump_device_memory_state=dump_memory_state
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
