"""`ttnn.experimental`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.ops.heads": """
        nlp_create_qkv_heads nlp_create_qkv_heads_decode nlp_concat_heads nlp_concat_heads_decode
    """,
    "tt_run.runtime.ops.rotary": "rotary_embedding rotary_embedding_llama",
    "tt_run.runtime.ops.caches": "paged_update_cache paged_fill_cache",
    "tt_run.runtime.ops.products": "minimal_matmul",
    "tt_run.runtime.ops.program_configs": "MinimalMatmulConfig",
    "tt_run.runtime.ccl.asynchronous": "all_gather_async reduce_scatter_minimal_async all_reduce_async",
    "tt_run.runtime.sockets.transfer": "send_async recv_async",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
