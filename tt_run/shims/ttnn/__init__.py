"""The emulated `ttnn`: names only. What each does, and its documentation, is in `tt_run.runtime`."""

import tt_run.runtime.ops as _ops
from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.enums": """
        DataType Layout StorageType BufferType TensorMemoryLayout ShardOrientation ShardStrategy Topology FabricConfig
        FabricReliabilityMode FabricTensixConfig ReduceType MathFidelity DumpTensorMode
        bfloat16=DataType.BFLOAT16 float32=DataType.FLOAT32 uint32=DataType.UINT32 bfloat8_b=DataType.BFLOAT8_B
        bfloat4_b=DataType.BFLOAT4_B uint8=DataType.UINT8 uint16=DataType.UINT16 int32=DataType.INT32 fp8_e4m3=DataType.FP8_E4M3
        int8=DataType.INT8
        ROW_MAJOR_LAYOUT=Layout.ROW_MAJOR TILE_LAYOUT=Layout.TILE
    """,
    "tt_run.runtime.mesh": """
        MeshShape MeshCoordinate MeshCoordinateRange MeshCoordinateRangeSet compute_distribution_to_mesh_mapping MeshDevice
        SystemMeshDescriptor FabricNodeId open_mesh_device close_mesh_device create_mesh_device open_device close_device
    """,
    "tt_run.runtime.mesh.opening": """
        CreateDevice=create_device CreateDevices=create_devices CloseDevice=close_device CloseDevices=close_devices manage_device
        SetDefaultDevice=set_default_device GetDefaultDevice=get_default_device get_num_devices get_num_pcie_devices
        get_device_ids get_pcie_device_ids get_arch_name GetNumAvailableDevices=get_num_devices
        GetNumPCIeDevices=get_num_pcie_devices
    """,
    "tt_run.runtime.tensor.memory": """
        MemoryConfig DRAM_MEMORY_CONFIG L1_MEMORY_CONFIG CoreCoord CoreRange CoreRangeSet CoreGrid
    """,
    "tt_run.runtime.tensor.spec": "Shape Tile TensorSpec TILE_SIZE",
    "tt_run.runtime.tensor.topology": "PlacementReplicate PlacementShard TensorTopology",
    "tt_run.runtime.tensor.tensor": "Tensor",
    "tt_run.runtime.tensor.borders": "from_torch to_torch",
    "tt_run.runtime.tensor.configs": "MeshMapperConfig MeshComposerConfig",
    "tt_run.runtime.tensor.mappers": """
        TensorToMesh ReplicateTensorToMeshWrapper create_mesh_mapper shard_tensor_to_mesh_mapper replicate_tensor_to_mesh_mapper
        ShardTensorToMesh ReplicateTensorToMesh ShardTensor2dMesh
    """,
    "tt_run.runtime.tensor.composers": """
        MeshToTensor create_mesh_composer concat_mesh_to_tensor_composer ConcatMeshToTensor ConcatMesh2dToTensor aggregate_tensor
    """,
    "tt_run.runtime.tensor.placing": "to_device from_device",
    "tt_run.runtime.ops.activations": "UnaryOpType UnaryWithParam EltwiseUnaryWithParam=UnaryWithParam",
    "tt_run.runtime.ops.unary": "GeluVariant SigmoidMode",
    "tt_run.runtime.ops": " ".join(
        name.removeprefix("ttnn.") for name in _ops.registry if name.count(".") == 1
    ),
    "tt_run.runtime.ccl.collectives": "all_gather reduce_scatter all_reduce all_broadcast",
    "tt_run.runtime.ccl.fabric": "set_fabric_config get_fabric_config",
}

_SUBMODULES = ()

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
