"""`ttml.distributed.fsdp`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.fsdp_module": """
        FSDPModule ShardedParameter fully_shard setup_prefetching synchronize_fsdp_gradients clear_fsdp_registry
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
