"""`ttml.parallel`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.tensor_parallel": "SEQUENCE_DIM TPStrategy is_sequence_parallel mark_sequence_parallel"
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
