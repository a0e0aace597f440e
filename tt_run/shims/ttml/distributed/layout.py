"""`ttml.distributed.layout`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.layouts": """
        Layout DistributedLayout=Layout Shard Replicate replicated_layout get_layout set_layout layout_from_topology layout_to_mapper_config
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
