"""`ttnn._ttnn.tensor`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tensor.questions": """
        element_size=bytes_of_element get_optimal_worker_cores_for_sharded_tensor=worker_cores_of tile_size=bytes_of_tile
    """,
    "tt_run.runtime.descriptors.overlapped": """
        OverlappedTensor
    """,
    "tt_run.runtime.enums": """
        DataType Layout StorageType BufferType TensorMemoryLayout ShardOrientation DumpTensorMode MathFidelity
        ShardDistributionStrategy ShardShapeAlignment
    """,
    "tt_run.runtime.tensor.spec.memory_config": "MemoryConfig ShardSpec CoreCoord CoreRange CoreRangeSet NdShardSpec",
    "tt_run.runtime.tensor.spec.tensor_spec": "Shape Tile TensorSpec",
    "tt_run.runtime.tensor.tensor": "Tensor",
    "tt_run.runtime.tensor.host_buffer": "HostBuffer",
    "tt_run.runtime.tensor.borders.files": "dump_tensor_flatbuffer load_tensor_flatbuffer",
    "tt_run.runtime.tensor.conversion.devices": "experimental_to_single_device=to_one_device",
    "tt_run.runtime.cores": "corerange_to_cores",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
