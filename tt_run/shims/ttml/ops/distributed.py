"""`ttml.ops.distributed`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.ops.distributed": "all_reduce all_gather reduce_scatter broadcast scatter ring_shift GradOutputType RingShiftDirection",
    "tt_run.runtime.train.ops.sequence_parallel": """
        SPLinearImpl set_sp_linear_impl get_sp_linear_impl set_sp_linear_backward_impl get_sp_linear_backward_impl sp_column_parallel_linear
        sp_row_parallel_linear SPOverlapMode set_sp_overlap get_sp_overlap sp_overlap_stats
    """,
    "tt_run.runtime.train.autograd.positions": "RingLayout",
    "tt_run.runtime.train.ops.ring_attention": "ring_attention_sdpa AttentionMaskType",
    "tt_run.runtime.train.ops.vocab_parallel": "vocab_parallel_cross_entropy_loss",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
