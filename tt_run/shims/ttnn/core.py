"""`ttnn.core`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.cores": "num_cores_to_corerangeset",
    "tt_run.runtime.core_work": """
        divup roundup num_cores_to_corerangeset_in_subcoregrids grid_to_cores split_work_to_cores
    """,
    "tt_run.runtime.enums": """
        BufferType ShardOrientation ShardStrategy TensorMemoryLayout DEVICE_STORAGE_TYPE=StorageType.DEVICE
    """,
    "tt_run.runtime.tensor.spec.memory_config": """
        MemoryConfig create_sharded_memory_config create_sharded_memory_config_
    """,
    "tt_run.runtime.tensor.questions": """
        is_tensor_storage_on_device get_memory_config is_sharded has_tile_padding has_storage_type_of
        ttnn_dtype_to_torch_dtype=torch_dtype
    """,
    "tt_run.runtime.tuning.compute": "WormholeComputeKernelConfig init_device_compute_kernel_config",
    "tt_run.runtime.mesh.device_functions": "dump_stack_trace_on_segfault",
    "tt_run.runtime.queues": "get_current_command_queue_id_for_thread=current_queue",
    "tt_run.runtime.tensor.printing": "set_printoptions",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
