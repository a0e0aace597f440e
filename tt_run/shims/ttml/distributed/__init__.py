"""`ttml.distributed`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.layouts": """
        Layout DistributedLayout=Layout Shard Replicate replicated_layout get_layout set_layout layout_from_topology layout_to_mapper_config
        distribute_tensor distribute_batch
    """,
    "tt_run.runtime.train.parallel.mesh_runtime": "MeshRuntime get_runtime set_runtime",
    "tt_run.runtime.train.parallel.parallelize": """
        ParallelStyle ColwiseParallel RowwiseParallel parallelize_module distribute_module sync_gradients
    """,
    "tt_run.runtime.train.dispatch.calls": "dispatch register_op redistribute",
    "tt_run.runtime.train.dispatch.published": "init_ops",
    "tt_run.runtime.train.dispatch.plans": """
        ShardingPlan CCL Broadcast AllReduce AllGather OptionalCCL register_rule get_rule register_module_rule get_module_rule
    """,
    "tt_run.runtime.train.dispatch.trace": "DispatchTracer DispatchTraceCallback dispatch_trace",
    "tt_run.runtime.train.parallel.fsdp_module": "FSDPModule fully_shard setup_prefetching synchronize_fsdp_gradients clear_fsdp_registry",
    "tt_run.runtime.train.parallel.data_parallel": "DistributedDataParallel",
}
_SUBMODULES = (
    "_register_ops",
    "cache",
    "ddp",
    "debug",
    "fsdp",
    "layout",
    "mesh_runtime",
    "module_rules",
    "rules",
    "style",
    "training",
    "utils",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)

# Modules of the same names are below: importing them would put them in the place of the functions.
from ttml.distributed.dispatch import dispatch as dispatch  # noqa: E402
from ttml.distributed.redistribute import redistribute as redistribute  # noqa: E402
