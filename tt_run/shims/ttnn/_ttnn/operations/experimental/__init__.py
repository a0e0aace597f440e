"""`ttnn._ttnn.operations.experimental`: the modules that programs import from."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn.experimental": """
        Conv3dConfig MinimalMatmulConfig RGBRange YUVCoefficients YUVColorSpace YUVFormat YUVRange
        all_reduce_create_qkv_heads apply_twiddles apply_twiddles_xl attn_matmul attn_matmul_from_cache bluestein_fft
        broadcast_to can_use_fused_msda_from_offsets_l1_value complex_mul concatenate_heads conv3d convert_to_chw
        convert_to_hwc create_global_circular_buffer_for_matmul_1d create_global_circular_buffer_for_tensor_prefetcher
        create_prefetcher_pipes_for_tensor_prefetcher create_qkv_heads create_qkv_heads_from_separate_tensors
        deepseek_grouped_gate deepseek_moe_fast_reduce_nc deepseek_moe_fast_reduce_nc_fused
        deepseek_moe_post_combine_tilize dit_layernorm_post_allgather dit_layernorm_pre_allgather
        dit_minimal_matmul_addcmul_fused dit_rms_norm_unary_fused dropout fast_reduce_nc fast_reduce_nc_split fft
        fft_radix_pass fft_three_pass fused_msda fused_msda_from_offsets group_attn_matmul hc_sum_reduce
        high_bw_all_gather ifft indexed_fused_update_cache indexer_score_dsa indexer_score_msa intimg
        is_tensor_prefetcher_supported isin matmul_decode minimal_matmul minimal_matmul_split moe_gpt
        multi_scale_deformable_attn nlp_concat_heads nlp_concat_heads_boltz nlp_concat_heads_decode
        nlp_create_q_heads_split nlp_create_qkv_heads nlp_create_qkv_heads_boltz nlp_create_qkv_heads_decode
        nlp_create_qkv_heads_falcon7b nlp_create_qkv_heads_segformer nlp_create_qkv_heads_vit nlp_kv_cache_load_slice
        padded_slice paged_fill_cache paged_fused_update_cache paged_update_cache prefix_scan prepare_conv3d_weights
        prepare_generic_op queue_tensor_prefetcher_request repeat_and_interleave_eltwise_mul rgb_to_yuv
        ring_indexer_score_dsa rotary_embedding rotary_embedding_hf rotary_embedding_llama
        rotary_embedding_llama_fused_qk rotate_half slice_write split_query_key_value_and_split_heads
        start_tensor_prefetcher stop_tensor_prefetcher tensor_prefetcher_block_count_for_matmul_1d
        test_dram_prefetcher_consumer test_dram_prefetcher_validator test_tensor_prefetcher_pipe_consumer
        test_tensor_prefetcher_pipe_validator topk_large_indices topk_router_gpt transpose_rm typecast view
        wait_for_cq_on_tensor_prefetcher wan_fused_rmsnorm_post_allgather wan_fused_rmsnorm_pre_allgather
        yuv_bt601_coefficients yuv_bt709_coefficients
    """,
    "ttnn": """
        IndexerScoreProgramConfig RoutedExpertActivation adaptive_avg_pool2d adaptive_max_pool2d plus_one
        test_hang_device_operation
    """,
    "ttnn.experimental.deepseek_prefill": """
        attn_res_gather_softmax attn_res_weighted_reduce_nc combine combine_fabric2d compressor_state_exchange
        csa_compressor dispatch dispatch_fabric2d extract hybrid_routed_expert_moe
        hybrid_routed_expert_moe_forwarding_buffer inbound_socket_service_sync insert masked_bincount
        mhc_split_sinkhorn moe_fused_swiglu moe_grouped_topk moe_hash_gate moe_padding_config offset_cumsum
        outbound_socket_service_sync pack_scaled_fp8_kv_cache per_token_cast_back per_token_cast_to_fp8
        post_combine_reduce rotary_embedding_indexed routed_expert_ffn unified_routed_expert_moe
        update_padded_kv_cache zero_padded_kv_cache
    """,
    "ttnn.experimental.deepseek.moe": "deepseek_moe_gate generalized_moe_gate moe_gate_mm",
}

_SUBMODULES = (
    "ccl_experimental",
    "disaggregation",
    "fabric_mux",
    "kda",
    "quasar",
)

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
