"""The steps of backward operations that refuse integers: what the reference names in place of the operation. Source: reference library 0.81.1,
where each of these calls was made.
"""

from __future__ import annotations

from tt_run.runtime.enums import DataType, cpp

_TYPES = (DataType.INT32, DataType.UINT32, DataType.UINT16, DataType.UINT8)

_TABLE = """
abs_bw: SIGN
acos_bw: RSQRT NEG NEG NEG
acosh_bw: RSQRT RSQRT RSQRT SQUARE
add_bw: . . . +MUL
addalpha_bw: . . . +MUL
addcdiv_bw: RECIP
addcmul_bw: . . . +MUL
asin_bw: RSQRT NEG NEG SQUARE
asinh_bw: RSQRT RSQRT ADD_UNARY_SFPU SQUARE
atan_bw: RECIP RECIP ADD_UNARY_SFPU SQUARE
atan2_bw: +HYPOT
atanh_bw: RECIP NEG SUB_UNARY_SFPU SQUARE
bias_gelu_bw: =GELU_BW =GELU_BW =GELU_BW +ADD
celu_bw: . . EXP +MUL
clamp_bw: . . +WHERE_TTS +WHERE_TTS@UINT16
clip_bw: . . +WHERE_TTS +WHERE_TTS@UINT16
cos_bw: SIN
cosh_bw: SINH
deg2rad_bw: . . . +MUL
digamma_bw: POLYGAMMA
div_bw: RECIP
div_no_nan_bw: . . +WHERE_TST +MUL
elu_bw: EXP GTZ GTZ GTZ
erf_bw: . . . +MUL
erfc_bw: EXP NEG NEG SQUARE
erfinv_bw: . . +WHERE_TST +MUL
exp_bw: EXP
exp2_bw: EXP2
expm1_bw: EXP
fmod_bw: . +DIV +DIV +DIV
gelu_bw: =GELU_BW
hardshrink_bw: HARDSHRINK
hardsigmoid_bw: . . +WHERE_TST +MUL
hardswish_bw: . . +WHERE_TST +MUL
hardtanh_bw: . . +WHERE_TST +WHERE_TST@UINT16
hypot_bw: +HYPOT
i0_bw: I1
ldexp_bw: RPOW
leaky_relu_bw: . GTZ GTZ GTZ
lerp_bw: . . . +RSUB
lgamma_bw: DIGAMMA
log_bw: RECIP
log10_bw: . LTZ LTZ LTZ
log1p_bw: RECIP LTZ LTZ LTZ
log2_bw: . LTZ LTZ LTZ
log_sigmoid_bw: EXP LTZ LTZ LTZ
logaddexp_bw: EXP EXP EXP +SUB
logaddexp2_bw: RPOW RPOW RPOW +SUB
logit_bw: RECIP RECIP RECIP +RSUB
logiteps_bw: RECIP RECIP RECIP +RSUB
max_bw: . GTZ GTZ +MUL
min_bw: . GTZ GTZ +MUL
multigammaln_bw: DIGAMMA
neg_bw: . NEG NEG NEG
polygamma_bw: POLYGAMMA
pow_bw: . LEZ LEZ +MUL
rad2deg_bw: . . . +MUL
rdiv_bw: RECIP
reciprocal_bw: . . +WHERE_TST EQZ
relu_bw: . GTZ GTZ GTZ
relu6_bw: . GTZ GTZ GTZ
remainder_bw: . +DIV +DIV +DIV
rpow_bw: . LTZ LTZ +MUL
rsqrt_bw: RSQRT
rsub_bw: . NEG NEG NEG
selu_bw: EXP GTZ GTZ +MUL
sigmoid_bw: =SIGMOID_BW
silu_bw: SIGMOID
sin_bw: COS
sinh_bw: COSH
softplus_bw: . . SIGMOID +MUL
softshrink_bw: . . +WHERE_TTS +WHERE_TTS@UINT16
softsign_bw: ABS RECIP ADD_UNARY_SFPU ADD_UNARY_SFPU
sqrt_bw: SQRT
square_bw: . . . +MUL
squared_difference_bw: . . . +SUB
sub_bw: . NEG NEG NEG
subalpha_bw: . NEG NEG NEG
tan_bw: TAN
tanh_bw: =TANH_BW
tanhshrink_bw: TANH
threshold_bw: . . GTZ +ADD
where_bw: . . +WHERE_TTS +WHERE_TTS
xlogy_bw: LOG
"""
"""Operations and the first of their steps that refuses: one for all integers, or one for each of `_TYPES`; `.` is none.

A step is of one operand; of two after a plus, with the type that it is given behind @ where that is another one; of the operation itself
after an equals sign.
"""

_IN_OTHER_WORDS = {
    "mul_bw": "MUL_BW requires floating-point the grad_output tensor (bfloat16/float32/bfloat8_b/bfloat4_b); got dtype {}. int/uint operands "
    "are not supported by binary_backward.",
    "prod_bw": "Error - unsupported data type for prod, expected BFLOAT16, FLOAT32, BFLOAT8_B or BFLOAT4_B but got {}.",
}


def _refusals() -> dict[str, list[str]]:
    found = {}
    for line in _TABLE.strip().splitlines():
        name, _, steps = line.partition(":")
        found[name] = steps.split() * (1 if " " in steps.strip() else len(_TYPES))
    return found


STEPS = _refusals()
"""By the names of operations below `ttnn`: the step that refuses each of the integers."""


def refusal(name: str, dtype: DataType) -> str | None:
    """What is said of integers that a step of backward operation `name` does not take; None where no step is known."""
    if name in _IN_OTHER_WORDS:
        return _IN_OTHER_WORDS[name].format(cpp(dtype))
    step = STEPS[name][_TYPES.index(dtype)] if name in STEPS and dtype in _TYPES else "."
    if step == ".":
        return None
    if step.startswith("="):
        return (
            f"{step[1:]} operation only supports floating-point dtypes (bfloat16, float32, bfloat8_b, bfloat4_b), but the input tensor has "
            f"dtype {cpp(dtype)}."
        )
    if step.startswith("+"):
        kind, _, given = step[1:].partition("@")
        shown = f"DataType::{given}" if given else cpp(dtype)
        return f"Input tensor A dtype {shown} is not supported for binary operation BinaryOpType::{kind}"
    return f"Unary: UnaryOpType::{step} does not support integer input dtype {cpp(dtype)}"
