"""Whole numbers that operations take without a sign, and sequences of them that have a length: by the names of parameters.

A parameter of these names is without a sign wherever it is, but where another operation has it with one. Source: reference library 0.81.1,
where each was called with -1, and each sequence with none to six numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_UNSIGNED = frozenset(
    """
    C C_in_block E H K L N N1 N2 P W alignment batch_idx batch_offset batch_size batch_slot_layer_idx batch_slot_num_layers big_modulus
    block_cyclic_chunk_local block_cyclic_sp_axis block_size cache_batch_idx cache_position_modulo channels chunk_size chunk_sizes
    chunk_start_idx chunk_width_in_mm_blocks chunks chunks_per_sync cluster_axis combine_data_parallel_cores
    combine_token_parallel_cores cur_pos dilation divisor end expert_parallel_size experts_per_device fsdp_cluster_axis full_N
    gathered_dim_size gathered_slab_global groups hOnes head_dim_v hidden_size in0_column_offset in_channels index_cache_layer_idx
    index_cache_num_layers index_dims input_batch_index input_h input_height input_length input_pad_h input_pad_w input_w input_width
    intermediate_size k kernel_size key_compression_ratio kv_len layer_id length logical_h mm_N_full_block_wt mm_block_ht mm_block_wt
    mm_cores_y mm_window_blocks n_activated_experts n_groups non_zero_weight_size normalized_dims np_cluster_axis np_num_links
    np_pad2_cluster_axis np_pad2_left np_pad2_num_links np_pad2_right np_pad_dim2 np_padding_h np_padding_w num_buffers_per_channel
    num_devices num_experts num_groups num_heads num_heads_per_device num_kv_heads num_layers num_links num_preferred_links
    num_shared_experts num_shared_experts_per_device num_tokens num_workers_per_link out_channels output_concat_dim
    output_dim_offset output_dim_shape output_height_shard_dim output_padding output_shard_dim output_size output_width_shard_dim
    padding padding_left padding_right reduction_size repeat_dims repeats ring_id ring_size seed seq_len_end seq_len_start
    seq_shard_axes seq_subshard_axis shape shard_shape slice_dim slice_size sliding_window_size spec_multi_pos_tiles split_head_dim
    split_output_width start step stride stride_h stride_w summed_experts_per_group t_front_pad token_index topk_groups twiddle_N2
    update_idx update_idxs valid_length valid_length_offset wOnes windowed_q_token_offset
    """.split()  # noqa: SIM905
)

_SIGNED = {
    "arange": "start end step",
    "experimental.all_gather_minimal_matmul_async": "chunks",
    "experimental.dit_fused_distributed_groupnorm": "num_groups",
    "experimental.minimal_matmul_split": "chunks",
    "experimental.strided_all_gather_minimal_matmul_async": "chunks",
    "experimental.view": "C H W shape",
    "group_norm": "num_groups",
    "moreh_arange": "start end step",
    "narrow": "start",
    "pad": "padding",
    "polygamma": "k",
    "reshape": "shape",
    "reshape_on_device": "W",
    "transformer.chunked_flash_mla_prefill": "chunk_start_idx",
    "transformer.chunked_scaled_dot_product_attention": "chunk_start_idx",
    "transformer.ring_distributed_scaled_dot_product_attention": "chunk_start_idx",
    "view": "shape",
}
"""Operations that take a parameter of those names with a sign."""

_ALSO = {
    **dict.fromkeys(("index_fill", "index_fill_new"), "dim"),
    **{
        f"moreh_{name}{back}": "dim"
        for name in ("logsoftmax", "softmax", "softmin")
        for back in ("", "_backward")
    },
    "experimental.all_gather_matmul_async": "dim",
    "experimental.conv3d": "logical_h_mask logical_w_mask output_pad_h output_pad_w",
    "experimental.deepseek_moe_fast_reduce_nc": "split_size",
    "experimental.deepseek_moe_fast_reduce_nc_fused": "split_size",
    "experimental.matmul_reduce_scatter_async": "dim",
    "experimental.minimal_matmul_strided_reduce_scatter_async": "dim",
    "experimental.strided_all_gather_minimal_matmul_async": "dim",
}
"""Operations that take another parameter without a sign."""

_WINDOW = {
    **dict.fromkeys(("kernel_size", "stride", "dilation", "output_padding", "output_size"), (2,)),
    "padding": (2, 4),
}
_LENGTHS: dict[str, Mapping[str, Sequence[int]]] = {
    **dict.fromkeys([f"{name}_pool2d" for name in ("adaptive_avg", "adaptive_max", "avg", "max")], _WINDOW),
    **dict.fromkeys(("conv2d", "conv_transpose2d"), _WINDOW),
    "conv1d": {"padding": (2,)},
    "experimental.conv3d": {"kernel_size": (3,)},
    "fold": {"padding": (2, 4, 6)},
    "interleaved_to_sharded": {"shard_shape": (2,)},
    "interleaved_to_sharded_partial": {"shard_shape": (2,)},
}
"""How many numbers there are in sequences of an operation."""


def unsigned(operation: str, parameter: str) -> bool:
    """Whether an operation, by its name below `ttnn`, takes a parameter's whole numbers without a sign."""
    if parameter in _ALSO.get(operation, "").split():
        return True
    return parameter in _UNSIGNED and parameter not in _SIGNED.get(operation, "").split()


def lengths(operation: str, parameter: str) -> Sequence[int]:
    """How long a sequence of whole numbers may be; nothing where any length is taken."""
    return _LENGTHS.get(operation, {}).get(parameter, ())


_INSTEAD = {
    "cur_pos": "-1, which leaves a user out, stands in cur_pos_tensor",
    "update_idxs": "-1, which leaves a user out, stands in update_idxs_tensor",
}


def another_number(parameter: str) -> str:
    """A hint for a number that a parameter does not take and another one does."""
    return f"\nhelp: {_INSTEAD[parameter]}" if parameter in _INSTEAD else ""
