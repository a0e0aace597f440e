"""`ttnn._ttnn.operations.experimental.ccl_experimental`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.ccl.semaphores": "GlobalSemaphoreArg",
    "tt_run.runtime.ops.experts.ring_operations": "WeightCoreShardMaps WeightMemoryConfigs",
    "ttnn": "DispatchAlgorithm MMSignalAggregatorMode WorkerMode fused_rms_minimal",
    "ttnn.operations.ccl": "MoEActivationFunction",
    "ttnn.experimental": """
        add_shared_expert_weights all_gather_async all_gather_async_reversed all_gather_concat all_gather_matmul_async
        all_reduce_async all_to_all_async all_to_all_async_generic all_to_all_dispatch_metadata
        deepseek_moe_reduce_scatter dit_fused_distributed_groupnorm
        dit_fused_distributed_groupnorm_create_stats_buffer dit_fused_distributed_layernorm
        dit_fused_distributed_layernorm_create_stats_buffer dit_fused_distributed_rmsnorm
        dit_fused_distributed_rmsnorm_create_stats_buffer get_moe_combine_cores get_moe_tilize_drain_core
        get_moe_worker_mcast_bounding_box get_weight_core_shard_maps get_weight_mem_configs halo_scatter
        llama_all_gather_matmul_async llama_reduce_scatter llama_rs_create_heads llama_rs_matmul
        matmul_reduce_scatter_async minimal_matmul_strided_reduce_scatter_async moe_compute neighbor_pad_async
        neighbor_pad_halo prepare_w0_w1_tensor_for_moe_compute prepare_w0_w1_tensor_with_bias
        prepare_w2_tensor_for_moe_compute prepare_w2_tensor_with_bias quantize_weights_via_host recv_async
        recv_async_h2d recv_direct_async reduce_scatter_minimal_async
        reduce_scatter_minimal_async_create_intermediate_buffer reduce_scatter_minimal_direct
        reduce_scatter_minimal_direct_create_persistent_buffers reduce_scatter_minimal_direct_create_staging_buffer
        ring_attention_all_gather_async send_async send_async_d2h send_direct_async slice_reshard_async
        strided_all_gather_async strided_all_gather_minimal_matmul_async strided_reduce_scatter_async
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
