"""What an operation is called inside of the library: the one native operation that it runs on a device.

Source: captures of reference library 0.81.1. Operations that run several, or other ones for other arguments, are not here.
"""

from __future__ import annotations

from tt_run.runtime.tuning.activation import UnaryOpType

_NAMES = {
    "BinaryNgDeviceOperation": (
        "add add_ subtract subtract_ sub sub_ multiply multiply_ mul mul_ rsub rsub_ eq eq_ ne ne_ ge ge_ gt gt_ le le_ lt lt_"
        " logical_and logical_and_ logical_or logical_or_ logical_xor logical_xor_ maximum minimum squared_difference squared_difference_"
        " logaddexp logaddexp_ logaddexp2 logaddexp2_ ldexp ldexp_ bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div div_"
    ),
    "TernaryDeviceOperation": "where addcdiv addcmul lerp mac",
    "MatmulDeviceOperation": "matmul linear",
    "LayerNormDeviceOperation": "layer_norm rms_norm",
    "SoftmaxDeviceOperation": "softmax softmax_in_place scale_mask_softmax scale_mask_softmax_in_place",
    "SDPAOperation": "transformer.scaled_dot_product_attention",
    "NlpCreateHeadsDeviceOperation": "experimental.nlp_create_qkv_heads",
    "CloneOperation": "clone",
    "SplitDeviceOperation": "split",
    "ConcatDeviceOperation": "concat",
    "TransposeDeviceOperation": "transpose",
    "TypecastDeviceOperation": "typecast",
    "SliceDeviceOperation": "slice",
    "PadDeviceOperation": "pad",
    "RepeatCodegenDeviceOperation": "repeat",
    "SortDeviceOperation": "sort",
    "TopKDeviceOperation": "topk",
    "ArgMaxDeviceOperation": "argmax",
    "AccumulationDeviceOperation": "cumsum",
    "TilizeDeviceOperation": "tilize",
    "UntilizeCodegenDeviceOperation": "untilize",
}
_OF = {f"ttnn.{name}": native for native, names in _NAMES.items() for name in names.split()}


def native_name(operation: str) -> str:
    """The native operation behind `ttnn.exp`, or `ttnn::exp` where the table does not say which it is."""
    found = _OF.get(operation)
    if found is None and hasattr(UnaryOpType, operation.removeprefix("ttnn.").upper()):
        return "UnaryDeviceOperation"
    return found or operation.replace(".", "::")
