"""Operations whose values other files compare: by file below `tests/runtime`, and those that have no values to compare."""

from __future__ import annotations

ELSEWHERE: dict[str, str] = {
    "ccl/forms_program.py": """
    all_gather experimental.all_gather_async_reversed experimental.all_gather_concat experimental.all_gather_matmul_async
    experimental.all_gather_minimal_matmul_async experimental.all_reduce_create_qkv_heads experimental.all_to_all_async
    experimental.all_to_all_async_generic experimental.all_to_all_dispatch_metadata experimental.deepseek_moe_reduce_scatter
    experimental.deepseek_prefill.combine experimental.deepseek_prefill.combine_fabric2d experimental.deepseek_prefill.dispatch
    experimental.moe_compute experimental.selective_reduce_combine
    experimental.deepseek_prefill.dispatch_fabric2d experimental.deepseek_prefill.attn_res_gather_softmax
    experimental.deepseek_prefill.compressor_state_exchange experimental.deepseek_prefill.csa_compressor
    experimental.dit_fused_distributed_groupnorm experimental.dit_fused_distributed_groupnorm_create_stats_buffer
    experimental.dit_fused_distributed_layernorm experimental.dit_fused_distributed_layernorm_create_stats_buffer
    experimental.dit_fused_distributed_rmsnorm experimental.dit_fused_distributed_rmsnorm_create_stats_buffer
    experimental.kda.qkv_causal_conv1d_silu_with_carry experimental.kda.select_final_carry experimental.ring_indexer_score_dsa
    experimental.halo_scatter experimental.high_bw_all_gather experimental.llama_all_gather_matmul_async
    experimental.llama_reduce_scatter experimental.llama_rs_create_heads experimental.llama_rs_matmul
    experimental.matmul_reduce_scatter_async experimental.minimal_matmul_strided_reduce_scatter_async
    experimental.neighbor_pad_async experimental.neighbor_pad_halo experimental.reduce_scatter_minimal_direct
    experimental.reduce_scatter_minimal_direct_create_persistent_buffers experimental.ring_attention_all_gather_async
    experimental.slice_reshard_async experimental.strided_all_gather_async
    experimental.strided_all_gather_minimal_matmul_async experimental.strided_reduce_scatter_async fused_rms_minimal
    rms_norm_post_all_gather rms_norm_pre_all_gather transformer.exp_ring_joint_scaled_dot_product_attention
    transformer.ring_joint_scaled_dot_product_attention transformer.ring_mla
    """,
    "ccl/program.py": """
    all_broadcast all_reduce broadcast mesh_partition point_to_point reduce_scatter
    """,
    "ccl/test_asynchronous.py": """
    experimental.all_gather_async experimental.all_reduce_async experimental.reduce_scatter_minimal_async
    """,
    "ccl/test_experts.py": """
    all_to_all_combine all_to_all_dispatch
    """,
    "ccl/test_reduce_to_root.py": """
    reduce_to_root
    """,
    "graph/test_capture.py": """
    deallocate
    """,
    "ops/attention/test_attention.py": """
    experimental.nlp_concat_heads experimental.nlp_concat_heads_decode experimental.nlp_create_qkv_heads
    experimental.nlp_create_qkv_heads_decode experimental.paged_fill_cache experimental.paged_update_cache
    fill_cache kv_cache.fill_cache_for_user_
    kv_cache.update_cache_for_token_ plus_one transformer.concatenate_heads
    transformer.paged_scaled_dot_product_attention_decode transformer.scaled_dot_product_attention
    transformer.scaled_dot_product_attention_decode transformer.split_query_key_value_and_split_heads update_cache
    """,
    "ops/gradients/test_backward.py": """
    assign embedding_bw
    """,
    "ops/images/test_convolutions.py": """
    conv1d conv2d conv_transpose2d experimental.conv3d experimental.prepare_conv3d_weights prepare_conv_bias
    prepare_conv_transpose2d_bias prepare_conv_transpose2d_weights prepare_conv_weights
    """,
    "ops/attention/test_gated_and_sparse_attention.py": """
    experimental.topk_large_indices transformer.chunk_gated_delta_rule transformer.fused_recurrent_gated_delta_rule
    transformer.gated_delta_attn_seq transformer.sparse_sdpa transformer.sparse_sdpa_msa
    """,
    "ops/experts/test_pieces_by_token.py": """
    experimental.apply_twiddles experimental.apply_twiddles_xl experimental.bluestein_fft experimental.fft_radix_pass
    experimental.fft_three_pass experimental.deepseek_prefill.attn_res_weighted_reduce_nc
    experimental.deepseek_prefill.moe_hash_gate experimental.deepseek_prefill.per_token_cast_back
    experimental.deepseek_prefill.per_token_cast_to_fp8 experimental.fused_msda experimental.indexed_fused_update_cache
    experimental.matmul_decode experimental.multi_scale_deformable_attn experimental.nlp_concat_heads_boltz
    experimental.nlp_create_qkv_heads_boltz experimental.nlp_create_qkv_heads_vit
    """,
    "ccl/test_expert_gpt.py": "experimental.moe_gpt",
    "ops/experts/test_gate_products.py": "experimental.deepseek.moe.moe_gate_mm",
    "ops/experts/test_gates_and_indexer.py": """
    experimental.can_use_fused_msda_from_offsets_l1_value experimental.deepseek.moe.deepseek_moe_gate
    experimental.deepseek.moe.generalized_moe_gate experimental.deepseek_prefill.mhc_split_sinkhorn experimental.fast_reduce_nc_split
    experimental.fused_msda_from_offsets experimental.indexer_score_dsa experimental.indexer_score_msa
    experimental.nlp_create_q_heads_split
    """,
    "ops/attention/test_delta_transitions.py": """
    experimental.kda.affine_exclusive_scan experimental.kda.chain_affine_transforms experimental.kda.qkv_causal_conv1d_silu
    experimental.kda.reduce_affine_transforms experimental.kda.summarize_chunk_recurrence
    """,
    "ops/attention/test_delta_attention.py": """
    experimental.kda.prepare_chunk_recurrence experimental.kda.recurrent_chunk_scan experimental.kda.sigmoid_gated_rms_norm
    """,
    "ops/attention/test_padded_caches.py": """
    experimental.deepseek_prefill.rotary_embedding_indexed experimental.deepseek_prefill.update_padded_kv_cache
    experimental.deepseek_prefill.zero_padded_kv_cache experimental.deepseek_prefill.moe_padding_config
    """,
    "ops/attention/test_latent_attention.py": """
    transformer.attention_softmax transformer.attention_softmax_ transformer.chunked_flash_mla_prefill
    transformer.chunked_scaled_dot_product_attention transformer.flash_mla_prefill
    transformer.flash_multi_latent_attention_decode transformer.joint_scaled_dot_product_attention
    transformer.paged_flash_multi_latent_attention_decode transformer.ring_distributed_scaled_dot_product_attention
    """,
    "ccl/test_expert_offsets.py": "experimental.deepseek_prefill.offset_cumsum",
    "ops/experts/test_ring_operations.py": """
    experimental.add_shared_expert_weights experimental.get_moe_combine_cores experimental.get_moe_tilize_drain_core experimental.get_moe_worker_mcast_bounding_box
    experimental.get_weight_core_shard_maps experimental.get_weight_mem_configs
    experimental.prepare_w0_w1_tensor_for_moe_compute experimental.prepare_w0_w1_tensor_with_bias
    experimental.prepare_w2_tensor_for_moe_compute experimental.prepare_w2_tensor_with_bias
    """,
    "ops/attention/test_grouped_heads.py": """
    experimental.create_qkv_heads experimental.create_qkv_heads_from_separate_tensors
    """,
    "ops/attention/test_joined_heads.py": """
    experimental.concatenate_heads experimental.split_query_key_value_and_split_heads
    """,
    "ops/attention/test_rotary.py": """
    experimental.rotary_embedding experimental.rotary_embedding_hf experimental.rotary_embedding_llama
    experimental.rotary_embedding_llama_fused_qk
    """,
    "ops/attention/test_user_products.py": """
    experimental.attn_matmul experimental.attn_matmul_from_cache experimental.group_attn_matmul
    """,
    "ops/experts/test_expert_prefill.py": """
    experimental.deepseek_moe_fast_reduce_nc_fused experimental.deepseek_prefill.extract experimental.deepseek_prefill.insert
    experimental.deepseek_prefill.masked_bincount experimental.deepseek_prefill.moe_grouped_topk
    experimental.deepseek_prefill.post_combine_reduce experimental.deepseek_prefill.routed_expert_ffn
    experimental.deepseek_prefill.unified_routed_expert_moe experimental.deepseek_prefill.hybrid_routed_expert_moe
    experimental.deepseek_prefill.moe_fused_swiglu experimental.deepseek_prefill.pack_scaled_fp8_kv_cache
    """,
    "ops/test_less_used.py": """
    experimental.deepseek_moe_post_combine_tilize complex_tensor composite_example composite_example_multiple_return copy
    experimental.convert_to_chw experimental.convert_to_hwc experimental.dit_layernorm_post_allgather
    experimental.dit_layernorm_pre_allgather experimental.nlp_create_qkv_heads_segformer
    experimental.nlp_kv_cache_load_slice experimental.padded_slice experimental.quantize_weights_via_host
    from_device interleaved_to_sharded is_imag is_real
    layer_norm_post_all_gather layer_norm_pre_all_gather move reallocate reshape_on_device reshard
    scale_causal_mask_hw_dims_softmax_in_place sharded_to_interleaved to_device
    """,
    "ops/experts/test_routing.py": """
    experimental.deepseek_grouped_gate experimental.deepseek_moe_fast_reduce_nc experimental.topk_router_gpt moe
    moe_expert_token_remap moe_routing_remap sparse_matmul
    """,
    "ops/products/test_latent_output.py": """
    experimental.deepseek.mla.matmul_wo
    """,
    "ops/products/test_minimal.py": """
    experimental.dit_minimal_matmul_addcmul_fused experimental.dit_rms_norm_unary_fused experimental.minimal_matmul_split
    """,
    "ops/reduction/test_state_space.py": """
    experimental.hc_sum_reduce experimental.prefix_scan experimental.repeat_and_interleave_eltwise_mul
    """,
    "ops/reduction/test_outer_dims.py": "experimental.fast_reduce_nc",
    "ops/attention/test_model_heads.py": "experimental.nlp_create_qkv_heads_falcon7b",
    "ops/attention/test_caches.py": "experimental.paged_fused_update_cache",
    "ops/data_movement/test_written_parts.py": "experimental.slice_write",
    "ops/test_more_rows.py": """
    ema alt_complex_rotate90 angle angle_bw batch_norm bcast bernoulli bitcast conj conj_bw dequantize experimental.broadcast_to
    experimental.complex_mul experimental.dropout experimental.isin experimental.fft experimental.ifft experimental.intimg
    experimental.is_tensor_prefetcher_supported experimental.rotate_half experimental.transpose_rm
    fill_implicit_tile_padding fill_ones_rm fill_rm imag imag_bw index_fill index_fill_new indexed_fill
    interleaved_to_sharded_partial matmul_batched_weights pearson_correlation_coefficient polar polar_bw quantize randn real
    real_bw requantize rotate scatter_add sharded_to_interleaved_partial tilize_with_val_padding tilize_with_zero_padding
    tosa_gather tosa_scatter uniform untilize_with_unpadding
    """,
    "ops/moreh/test_moreh.py": """
    moreh_adam moreh_adamw moreh_arange moreh_bmm_backward moreh_clip_grad_norm moreh_cumsum_backward moreh_dot
    moreh_dot_backward moreh_fold moreh_full moreh_full_like moreh_getitem moreh_group_norm moreh_group_norm_backward
    moreh_layer_norm moreh_layer_norm_backward moreh_linear moreh_linear_backward moreh_matmul moreh_matmul_backward
    moreh_mean moreh_mean_backward moreh_nll_loss moreh_nll_loss_backward moreh_nll_loss_unreduced_backward moreh_norm
    moreh_norm_backward moreh_sgd moreh_sum moreh_sum_backward
    """,
    "ops/data_movement/test_movement.py": """
    concat experimental.typecast gather scatter stack tilize typecast unsqueeze_to_4D untilize
    """,
    "ops/normalisation/test_norms.py": """
    embedding experimental.wan_fused_rmsnorm_post_allgather experimental.wan_fused_rmsnorm_pre_allgather group_norm
    scale_mask_softmax scale_mask_softmax_in_place
    """,
    "ops/images/test_pooling.py": """
    adaptive_avg_pool2d adaptive_max_pool2d avg_pool2d fold global_avg_pool2d grid_sample max_pool2d prepare_grid_sample_grid upsample
    """,
    "ops/products/test_products.py": """
    experimental.minimal_matmul
    """,
    "ops/images/test_video.py": """
    rgb_to_yuv
    """,
    "ops/reduction/test_reductions.py": """
    manual_seed nonzero sampling sort topk
    """,
    "ops/declaration/test_rows.py": """
    nextafter prelu unary_chain
    """,
    "sockets/program.py": """
    allocate_tensor_on_device experimental.recv_async experimental.send_async
    """,
    "sockets/test_host.py": """
    experimental.recv_async_h2d experimental.send_async_d2h
    """,
    "sockets/services/test_in_process.py": """
    experimental.deepseek_prefill.inbound_socket_service_sync experimental.deepseek_prefill.outbound_socket_service_sync
    """,
    "sockets/test_in_process.py": """
    experimental.recv_direct_async experimental.send_direct_async
    """,
    "tensor/borders/test_files.py": """
    as_tensor dump_tensor load_tensor
    """,
    "tensor/borders/test_torch.py": """
    from_torch to_torch
    """,
    "tensor/conversion/test_copies.py": """
    allocate_tensor_on_host copy_device_to_host_tensor copy_host_to_device_tensor to_layout
    """,
    "tensor/conversion/test_shaping.py": """
    to_dtype to_memory_config
    """,
    "tensor/creation/test_from_shape.py": """
    arange empty empty_like from_buffer full full_like ones ones_like rand zeros zeros_like
    """,
}
"""File -> names below `ttnn`."""

WITHOUT: dict[str, str] = {
    "experimental.deepseek_prefill.hybrid_routed_expert_moe_forwarding_buffer": "room that nothing reads",
    "copy_host_to_device_tensor_partial": "writes what the cores hold that are named; see tests/runtime/tensor/conversion/test_copies.py",
    "experimental.reduce_scatter_minimal_async_create_intermediate_buffer": "room that nothing reads",
    "experimental.reduce_scatter_minimal_direct_create_staging_buffer": "room that nothing reads",
}
"""Name -> why nothing compares its values."""
