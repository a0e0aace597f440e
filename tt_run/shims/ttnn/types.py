"""`ttnn.types`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.enums": """
        DataType Layout StorageType BufferType TensorMemoryLayout ShardOrientation ShardStrategy Topology
        FabricConfig FabricReliabilityMode FabricTensixConfig ReduceType MathFidelity DumpTensorMode
        bfloat16=DataType.BFLOAT16 float32=DataType.FLOAT32 uint32=DataType.UINT32
        bfloat8_b=DataType.BFLOAT8_B bfloat4_b=DataType.BFLOAT4_B uint8=DataType.UINT8
        uint16=DataType.UINT16 int32=DataType.INT32 fp8_e4m3=DataType.FP8_E4M3 int8=DataType.INT8
        ROW_MAJOR_LAYOUT=Layout.ROW_MAJOR TILE_LAYOUT=Layout.TILE
    """,
    "tt_run.runtime.tuning.compute": """
        WormholeComputeKernelConfig BlackholeComputeKernelConfig=WormholeComputeKernelConfig
        DeviceComputeKernelConfig
    """,
    "tt_run.runtime.mesh": "MeshShape MeshDevice",
    "tt_run.runtime.tensor.spec.memory_config": """
        MemoryConfig DRAM_MEMORY_CONFIG L1_MEMORY_CONFIG CoreCoord CoreRange CoreRangeSet CoreGrid
    """,
    "tt_run.runtime.tensor.spec.tensor_spec": "Shape Tile TILE_SIZE",
    "tt_run.runtime.tensor.tensor": "Tensor",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
