"""`ttnn.operations.transformer`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tools.golden_helpers": """
        chunk_gated_delta_rule_golden chunked_flash_mla_prefill_golden chunked_scaled_dot_product_attention_golden
        exp_ring_joint_scaled_dot_product_attention_golden flash_mla_prefill_golden
        flash_multi_latent_attention_decode_golden fused_recurrent_gated_delta_rule_golden gated_delta_attn_seq_golden
        joint_scaled_dot_product_attention_golden paged_flash_multi_latent_attention_decode_golden
        paged_scaled_dot_product_attention_decode_golden ring_distributed_scaled_dot_product_attention_golden
        ring_joint_scaled_dot_product_attention_golden ring_mla_golden scaled_dot_product_attention_decode_golden
        scaled_dot_product_attention_golden sparse_sdpa_golden sparse_sdpa_msa_golden
    """,
    "tt_run.runtime.tuning.blocks": "SDPAProgramConfig PagedCacheGeometryOverride",
    "tt_run.runtime.tuning.delta_rule": "ChunkGdnMonoProgramConfig ChunkGdnPhasedProgramConfig ChunkGdnFusedProgramConfig",
    "tt_run.runtime.tuning.choices": "ChunkGdnWyInverse SparseKVFormat",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
