"""`ttnn._ttnn.operations.moreh`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tuning.choices": """
        MorehSoftmaxBackwardOp
        MorehSoftmaxBackwardOpParallelizationStrategy
        MorehSoftmaxOp
        MorehSoftmaxOpParallelizationStrategy
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
