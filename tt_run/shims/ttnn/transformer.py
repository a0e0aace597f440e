"""`ttnn.transformer`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.ops.attention": "scaled_dot_product_attention attention_softmax",
    "tt_run.runtime.ops.decoding": """
        scaled_dot_product_attention_decode paged_scaled_dot_product_attention_decode
    """,
    "tt_run.runtime.ops.heads": "split_query_key_value_and_split_heads concatenate_heads",
    "tt_run.runtime.ops.program_configs": "SDPAProgramConfig",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
