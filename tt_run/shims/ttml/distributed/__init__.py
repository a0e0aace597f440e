"""`ttml.distributed`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.layouts": """
        Layout DistributedLayout=Layout Shard Replicate replicated_layout get_layout set_layout layout_from_topology layout_to_mapper_config
        distribute_tensor distribute_batch
    """,
    "tt_run.runtime.train.mesh_runtime": "MeshRuntime get_runtime set_runtime",
    "tt_run.runtime.train.parallelize": """
        init_ops ParallelStyle ColwiseParallel RowwiseParallel parallelize_module distribute_module sync_gradients
    """,
    "tt_run.runtime.train.dispatch.calls": "dispatch register_op redistribute",
    "tt_run.runtime.train.dispatch.plans": """
        ShardingPlan CCL Broadcast AllReduce AllGather OptionalCCL register_rule get_rule register_module_rule get_module_rule
    """,
    "tt_run.runtime.train.dispatch.trace": "DispatchTracer DispatchTraceCallback dispatch_trace",
    "tt_run.runtime.train.fsdp": "fully_shard",
}
_SUBMODULES = ("cache", "debug", "layout", "mesh_runtime", "rules", "style", "training")

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
