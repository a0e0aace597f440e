"""`ttnn._ttnn.fabric`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.descriptors.refused": """
        setup_fabric_connection setup_routing_plane_connection
    """,
    "tt_run.runtime.mesh.device_queries": """
        get_physical_mesh_shapes=physical_mesh_shapes get_tt_fabric_max_payload_size_bytes=fabric_payload_bytes
    """,
    "tt_run.runtime.mesh.directions": "get_eth_forwarding_direction get_forwarding_link_indices",
    "tt_run.runtime.ccl.kernel_words": "get_fabric_kernel_defines",
    "tt_run.runtime.mesh.view": """
        MeshId
    """,
    "tt_run.runtime.mesh": """
        FabricNodeId
    """,
    "tt_run.runtime.enums": "FabricConfig FabricReliabilityMode FabricTensixConfig",
    "tt_run.runtime.tuning.choices": "FabricUDMMode FabricManagerMode FabricType",
    "tt_run.runtime.tuning.fabric": "FabricRouterConfig",
    "tt_run.runtime.ccl.usable": "get_all_fabric_mesh_ids get_all_mgd_fabric_types",
    "tt_run.runtime.ccl.exchange.fabric": """
        set_fabric_config get_fabric_config get_tt_fabric_packet_header_size_bytes=packet_header_bytes
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
