"""`ttml.ops.distributed`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.ops.distributed": "all_reduce all_gather reduce_scatter broadcast scatter ring_shift GradOutputType RingShiftDirection",
    "tt_run.runtime.train.ops.vocab_parallel": "vocab_parallel_cross_entropy_loss",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
