"""`ttnn._ttnn.multi_device.experimental`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.mesh.directions": "RoutingDirection get_forwarding_direction get_chip_neighbors",
    "tt_run.runtime.mesh.device_functions": "worker_core_from_logical_core",
    "tt_run.runtime.tools.network_hops": "get_worker_noc_hop_distance",
    "tt_run.runtime.descriptors.refused": """
        generate_blitz_decode_pipeline resolve_blitz_decode_pipeline_allocation
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
