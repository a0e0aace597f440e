"""`ttnn.experimental.moe_compute_utils`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.ops.experts.expert_layouts": """
        W2_TILES_PER_A2A_ITER_W cluster_distance map_shared_experts add_shared_expert_weights
        get_shared_experts_per_device auto_output_width_shard_dim effective_matmul_ring_size
        _shard_tiles=shard_tiles _w2_shard_tiles=w2_shard_tiles
    """,
    "tt_run.runtime.ops.experts.ring_rows": """
        ALT_TILES_PER_TXN BLOCK_TILES_H DEFAULT_TILES_PER_TXN W0_W1_BLOCK_TILES_W W0_W1_HALF_BLOCK_TILES_W
        W0_W1_TXNS_PER_BLOCK W2_HALF_A2A_ITER_TILES_W w0_w1_bank_rows_per_expert w2_core_rows_per_expert
    """,
    "tt_run.runtime.ops.experts.ring_weights": """
        prepare_w0_w1_tensor_for_moe_compute prepare_w2_tensor_for_moe_compute prepare_w0_w1_tensor_with_bias
        prepare_w2_tensor_with_bias get_weight_mem_configs get_weight_core_shard_maps
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
