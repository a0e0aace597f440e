"""`ttnn._ttnn.operations.unary`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": """
        GeluVariant SigmoidMode abs acos acosh alt_complex_rotate90 asin asinh atan atanh bitcast
        bitwise_not cbrt ceil celu clamp clip cos cosh deg2rad digamma elu eqz erf erfc erfinv exp exp2
        expm1 fill floor frac geglu gelu gez glu gtz hardmish hardshrink hardsigmoid hardswish hardtanh
        heaviside i0 i1 identity isfinite isinf isnan isneginf isposinf leaky_relu lez lgamma log log10
        log1p log2 log_sigmoid logical_not logical_not_ logit ltz mish multigammaln neg nez
        normalize_global normalize_hw polygamma rad2deg rdiv reciprocal reglu relu relu6 relu_max
        relu_min round rpow rsqrt selu sigmoid sigmoid_accurate sign signbit silu sin sinh softcap
        softplus softshrink softsign sqrt square std_hw swiglu swish tan tanh tanhshrink threshold tril
        triu trunc unary_chain var_hw xielu
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
