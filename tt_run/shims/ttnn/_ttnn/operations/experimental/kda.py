"""`ttnn._ttnn.operations.experimental.kda`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn.experimental.kda": """
        QkvCausalConv1dSiluProgramConfig affine_exclusive_scan chain_affine_transforms prepare_chunk_recurrence
        qkv_causal_conv1d_silu qkv_causal_conv1d_silu_with_carry recurrent_chunk_scan reduce_affine_transforms
        select_final_carry sigmoid_gated_rms_norm summarize_chunk_recurrence
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
