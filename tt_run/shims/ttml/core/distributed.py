"""`ttml.core.distributed`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.distributed": """
        enable_fabric disable_fabric release_metal_env shard_tensor_to_mesh_mapper replicate_tensor_to_mesh_mapper concat_mesh_to_tensor_composer
        create_mesh_composer create_mesh_composer_config synchronize_gradients set_tensor_placements
        all_reduce all_gather reduce_scatter ttnn_all_reduce=all_reduce ttnn_all_gather=all_gather ttnn_reduce_scatter=reduce_scatter
    """,
    "tt_run.runtime.train.autograd.multihost": "SocketType SocketManager DistributedContext",
    "tt_run.runtime.train.autograd.linked_ranks": "check_links",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
