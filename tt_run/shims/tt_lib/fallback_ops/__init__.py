"""`tt_lib.fallback_ops`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.fallback.functions": """
        binary_bitwise_and binary_bitwise_left_shift binary_bitwise_or binary_bitwise_right_shift binary_bitwise_xor binary_fmod
        bitwise_not ceil chunk concat conv2d floor full group_norm interpolate layer_norm pad permute repeat repeat_interleave
        reshape silu softmax tensor_slice torch_argmax torch_argmin trunc unary_bitwise_and unary_bitwise_left_shift
        unary_bitwise_or unary_bitwise_right_shift unary_bitwise_xor unary_fmod
    """,
    "tt_run.runtime.tools.fallback.layers": "AdaptiveAvgPool2d BatchNorm2d Conv2d GroupNorm LayerNorm MaxPool2d",
    "tt_run.runtime.tools.fallback.crossing": "convert_tt_tensors_wrapper=crossing",
}

__getattr__, __dir__ = _publish(globals(), _TABLE, ("fallback_ops",))
