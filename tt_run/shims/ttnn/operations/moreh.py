"""`ttnn.operations.moreh`: operations as declared."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tools.golden_helpers": "golden_compute_gradients golden_prepare_grad_inputs",
    "tt_run.runtime.tuning.choices": """
        SoftmaxBackwardOp=MorehSoftmaxBackwardOp
        SoftmaxBackwardOpParallelizationStrategy=MorehSoftmaxBackwardOpParallelizationStrategy
        SoftmaxOp=MorehSoftmaxOpParallelizationStrategy
        SoftmaxOpParallelizationStrategy=MorehSoftmaxOpParallelizationStrategy
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE, operations="ttnn.operations.moreh")
