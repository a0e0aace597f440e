"""`ttml.distributed`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.layouts": """
        Layout DistributedLayout=Layout Shard Replicate replicated_layout get_layout set_layout layout_from_topology layout_to_mapper_config
        distribute_tensor distribute_batch
    """,
    "tt_run.runtime.train.parallelize": """
        MeshRuntime get_runtime set_runtime init_ops ParallelStyle ColwiseParallel RowwiseParallel parallelize_module distribute_module
        sync_gradients
    """,
    "tt_run.runtime.train.fsdp": "fully_shard",
}
_SUBMODULES = ("layout", "mesh_runtime", "style", "training")

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
