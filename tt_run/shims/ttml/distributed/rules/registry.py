"""`ttml.distributed.rules.registry`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.plans": "ShardingPlan CCL Broadcast AllReduce AllGather OptionalCCL register_rule get_rule register_module_rule get_module_rule _OP_RULES=OP_RULES _MODULE_RULES=MODULE_RULES",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
