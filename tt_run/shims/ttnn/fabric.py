"""`ttnn.fabric`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.enums": "FabricConfig FabricReliabilityMode FabricTensixConfig",
    "tt_run.runtime.tuning.choices": "FabricUDMMode FabricManagerMode",
    "tt_run.runtime.tuning.fabric": "FabricRouterConfig",
    "tt_run.runtime.ccl.exchange.fabric": "set_fabric_config get_fabric_config",
    "tt_run.runtime.mesh": "FabricNodeId",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
