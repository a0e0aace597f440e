"""`ttnn._ttnn.operations.unary_backward`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        abs_bw acos_bw acosh_bw asin_bw asinh_bw atan_bw atanh_bw ceil_bw celu_bw clamp_bw clip_bw cos_bw cosh_bw
        deg2rad_bw digamma_bw div_no_nan_bw elu_bw erf_bw erfc_bw erfinv_bw exp2_bw exp_bw expm1_bw fill_bw
        fill_zero_bw floor_bw frac_bw gelu_bw hardshrink_bw hardsigmoid_bw hardswish_bw hardtanh_bw i0_bw
        leaky_relu_bw lgamma_bw log10_bw log1p_bw log2_bw log_bw log_sigmoid_bw logit_bw logiteps_bw multigammaln_bw
        neg_bw polygamma_bw pow_bw prod_bw rad2deg_bw rdiv_bw reciprocal_bw relu6_bw relu_bw repeat_bw round_bw
        rpow_bw rsqrt_bw selu_bw sigmoid_bw sign_bw silu_bw sin_bw sinh_bw softplus_bw softshrink_bw softsign_bw
        sqrt_bw square_bw tan_bw tanh_bw tanhshrink_bw threshold_bw trunc_bw
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
