"""`ttnn._ttnn.operations.sliding_window`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "Op2DSliceConfig ParallelConfig=SlidingWindowParallelConfig",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
