"""`ttnn.types`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.ops.elementwise.bcast": "BcastOpMath BcastOpDim",
    "tt_run.runtime.enums": """
        DataType Layout StorageType BufferType TensorMemoryLayout ShardOrientation ShardStrategy Topology
        FabricConfig FabricReliabilityMode FabricTensixConfig ReduceType MathFidelity DumpTensorMode
        ShardShapeAlignment ShardDistributionStrategy
        bfloat16=DataType.BFLOAT16 float32=DataType.FLOAT32 uint32=DataType.UINT32
        bfloat8_b=DataType.BFLOAT8_B bfloat4_b=DataType.BFLOAT4_B uint8=DataType.UINT8
        uint16=DataType.UINT16 int32=DataType.INT32 fp8_e4m3=DataType.FP8_E4M3 int8=DataType.INT8
        ROW_MAJOR_LAYOUT=Layout.ROW_MAJOR TILE_LAYOUT=Layout.TILE DEVICE_STORAGE_TYPE=StorageType.DEVICE
    """,
    "tt_run.runtime.tuning.compute": """
        WormholeComputeKernelConfig BlackholeComputeKernelConfig=WormholeComputeKernelConfig
        DeviceComputeKernelConfig ThrottleLevel
    """,
    "tt_run.runtime.mesh": """
        MeshShape MeshDevice MeshCoordinate MeshCoordinateRange MeshCoordinateRangeSet
    """,
    "tt_run.runtime.mesh.view": "QueueId",
    "tt_run.runtime.cores": "corerange_to_cores",
    "tt_run.runtime.tuning.choices": """
        BinaryOpType NOC CoreType TransferMode
    """,
    "tt_run.runtime.tuning.multicast": """
        McastConfig McastCoreOrder McastDataReady McastExplicitFixedSenderConfig McastFixedSenderConfig
        McastRotatingSenderConfig McastSenderPlacement
    """,
    "tt_run.runtime.tuning.activation": "UnaryOpType UnaryWithParam",
    "tt_run.runtime.tensor.questions": "get_optimal_worker_cores_for_sharded_tensor=worker_cores_of",
    "tt_run.runtime.descriptors.words": "NOC_MODE DataMovementProcessor UnpackToDestMode",
    "tt_run.runtime.descriptors.arguments": "RuntimeArgs",
    "tt_run.runtime.descriptors.buffers": """
        TileDescriptor FaceGeometry CBFormatDescriptor CBDescriptor cb_descriptor_from_sharded_tensor get_cb_address
    """,
    "tt_run.runtime.descriptors.kernels": """
        KernelDescriptor ReaderConfigDescriptor WriterConfigDescriptor DataMovementConfigDescriptor
        ComputeConfigDescriptor SemaphoreDescriptor ProgramDescriptor MeshProgramDescriptor merge_program_descriptors
        compute_program_descriptor_hash
    """,
    "tt_run.runtime.descriptors.overlapped": "OverlappedTensor",
    "tt_run.runtime.descriptors.refused": "TensorAccessorArgs",
    "tt_run.runtime.tensor.spec.memory_config": """
        MemoryConfig ShardSpec NdShardSpec DRAM_MEMORY_CONFIG L1_MEMORY_CONFIG L1_HEIGHT_SHARDED_MEMORY_CONFIG
        L1_WIDTH_SHARDED_MEMORY_CONFIG L1_BLOCK_SHARDED_MEMORY_CONFIG CoreCoord CoreRange CoreRangeSet CoreGrid
    """,
    "tt_run.runtime.tensor.spec.tensor_spec": "Shape Tile TensorSpec TILE_SIZE",
    "tt_run.runtime.tensor.tensor": "Tensor",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
