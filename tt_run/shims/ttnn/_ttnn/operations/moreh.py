"""`ttnn._ttnn.operations.moreh`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        moreh_abs_pow moreh_adam moreh_adamw moreh_arange moreh_bmm moreh_bmm_backward
        moreh_clip_grad_norm moreh_cumsum moreh_cumsum_backward moreh_dot moreh_dot_backward moreh_fold
        moreh_getitem moreh_group_norm moreh_group_norm_backward moreh_layer_norm
        moreh_layer_norm_backward moreh_linear moreh_linear_backward moreh_logsoftmax
        moreh_logsoftmax_backward moreh_matmul moreh_matmul_backward moreh_mean moreh_mean_backward
        moreh_nll_loss moreh_nll_loss_backward moreh_nll_loss_unreduced_backward moreh_norm
        moreh_norm_backward moreh_sgd moreh_softmax moreh_softmax_backward moreh_softmin
        moreh_softmin_backward moreh_sum moreh_sum_backward
    """,
    "tt_run.runtime.tuning.choices": """
        MorehSoftmaxBackwardOp MorehSoftmaxBackwardOpParallelizationStrategy MorehSoftmaxOp
        MorehSoftmaxOpParallelizationStrategy
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
