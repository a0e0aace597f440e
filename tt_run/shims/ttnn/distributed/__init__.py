"""`ttnn.distributed`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.mesh.hardware": "DispatchCoreType",
    "tt_run.runtime.mesh": """
        MeshShape MeshCoordinate MeshCoordinateRange MeshCoordinateRangeSet
        compute_distribution_to_mesh_mapping MeshDevice SystemMeshDescriptor FabricNodeId open_mesh_device
        close_mesh_device create_mesh_device open_device close_device
    """,
    "tt_run.runtime.mesh.opening": "get_num_devices get_num_pcie_devices get_device_ids get_pcie_device_ids",
    "tt_run.runtime.mesh.pictures.as_text": "create_system_mesh_table visualize_system_mesh visualize_mesh_device visualize_tensor",
    "tt_run.runtime.mesh.distributed": """
        init_distributed_context distributed_context_is_initialized using_distributed_env
        distributed_context_get_rank distributed_context_get_size distributed_context_world_rank
        distributed_context_world_size distributed_context_barrier distributed_context_allgather_int
        distributed_context_send_bytes distributed_context_recv_bytes distributed_context_duplicate distributed_context_subcontext_count
        distributed_context_subcontext_id distributed_context_subcontext_size
        distributed_context_subcontext_sizes distributed_context_local_to_world_rank Rank Size Tag
    """,
    "tt_run.runtime.tensor.spec.topology": "PlacementReplicate PlacementShard TensorTopology",
    "tt_run.runtime.tensor.borders.defaults": "distribute",
    "tt_run.runtime.tensor.distribution.configs": "MeshMapperConfig MeshComposerConfig",
    "tt_run.runtime.tensor.distribution.mappers": """
        TensorToMesh ReplicateTensorToMeshWrapper create_mesh_mapper shard_tensor_to_mesh_mapper
        replicate_tensor_to_mesh_mapper ShardTensorToMesh ReplicateTensorToMesh ShardTensor2dMesh
        distribute_tensor
    """,
    "tt_run.runtime.tensor.distribution.composers": """
        MeshToTensor create_mesh_composer concat_mesh_to_tensor_composer ConcatMeshToTensor
        ConcatMesh2dToTensor aggregate_tensor
    """,
    "tt_run.runtime.tensor.distribution.per_device": "get_device_tensors from_host_shards combine_device_tensors",
    "tt_run.runtime.queues": "synchronize_device",
}

_SUBMODULES = ("distributed",)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
