"""`ttnn._ttnn.multi_device`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.mesh.view": """
        MeshDeviceView SubcontextId
    """,
    "tt_run.runtime.mesh": """
        MeshShape MeshCoordinate MeshCoordinateRange MeshCoordinateRangeSet MeshDevice
        SystemMeshDescriptor compute_distribution_to_mesh_mapping open_mesh_device close_mesh_device
    """,
    "tt_run.runtime.mesh.distributed": """
        init_distributed_context distributed_context_is_initialized using_distributed_env
        distributed_context_get_rank distributed_context_get_size distributed_context_world_rank
        distributed_context_world_size distributed_context_barrier distributed_context_allgather_int
        distributed_context_send_bytes distributed_context_recv_bytes distributed_context_subcontext_count
        distributed_context_subcontext_id distributed_context_subcontext_size
        distributed_context_subcontext_sizes distributed_context_local_to_world_rank Rank Size Tag
        send_bytes=distributed_context_send_bytes recv_bytes=distributed_context_recv_bytes
        is_initialized=distributed_context_is_initialized get_rank=distributed_context_get_rank
        allgather_int=distributed_context_allgather_int world_rank=distributed_context_world_rank
        world_size=distributed_context_world_size subcontext_count=distributed_context_subcontext_count
        subcontext_id=distributed_context_subcontext_id subcontext_size=distributed_context_subcontext_size
        subcontext_sizes=distributed_context_subcontext_sizes
        local_to_world_rank=distributed_context_local_to_world_rank
        get_size=distributed_context_get_size barrier=distributed_context_barrier
    """,
    "tt_run.runtime.tensor.spec.topology": "PlacementReplicate PlacementShard TensorTopology",
    "tt_run.runtime.tensor.host_buffer": "DistributedHostBuffer",
    "tt_run.runtime.tensor.distribution.configs": "MeshMapperConfig MeshComposerConfig",
    "tt_run.runtime.tensor.distribution.mappers": """
        TensorToMesh create_mesh_mapper shard_tensor_to_mesh_mapper replicate_tensor_to_mesh_mapper
        distribute_tensor CppTensorToMesh
    """,
    "tt_run.runtime.tensor.distribution.composers": """
        MeshToTensor create_mesh_composer concat_mesh_to_tensor_composer aggregate_tensor CppMeshToTensor
    """,
    "tt_run.runtime.tensor.distribution.per_device": "get_device_tensors from_host_shards combine_device_tensors",
}

_SUBMODULES = ("experimental",)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
