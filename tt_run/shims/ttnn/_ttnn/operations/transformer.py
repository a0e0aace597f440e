"""`ttnn._ttnn.operations.transformer`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        ChunkGdnFusedProgramConfig ChunkGdnMonoProgramConfig ChunkGdnPhasedProgramConfig
        ChunkGdnWyInverse
    """,
    "ttnn.transformer": """
        PagedCacheGeometryOverride SDPAProgramConfig SparseKVFormat attention_softmax attention_softmax_
        chunk_gated_delta_rule chunked_flash_mla_prefill chunked_scaled_dot_product_attention
        concatenate_heads exp_ring_joint_scaled_dot_product_attention flash_mla_prefill
        flash_multi_latent_attention_decode fused_recurrent_gated_delta_rule gated_delta_attn_seq
        joint_scaled_dot_product_attention paged_flash_multi_latent_attention_decode
        paged_scaled_dot_product_attention_decode ring_distributed_scaled_dot_product_attention
        ring_joint_scaled_dot_product_attention ring_mla scaled_dot_product_attention
        scaled_dot_product_attention_decode sparse_sdpa sparse_sdpa_msa
        split_query_key_value_and_split_heads
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
