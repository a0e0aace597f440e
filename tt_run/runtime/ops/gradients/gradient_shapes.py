"""Shapes and types that backward operations take beside the gradient. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.elementwise.special import check_order
from tt_run.runtime.ops.gradients import gradient_layouts
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, is_float

_COPIES = frozenset({"add_bw", "assign_bw", "sub_bw"})
"""They copy the gradient for each operand, whose shape is therefore the gradient's."""

_NEVER_NONE = frozenset(
    {"add_bw", "addalpha_bw", "assign_bw", "concat_bw", "div_bw", "rsub_bw", "sub_bw", "subalpha_bw"}
)
"""They refuse to compute no gradient at all."""

_OF_A_COPY = "Input tensor shape {gradient} does not match output tensor shape {operand}"
_OF_THE_SECOND = {
    "add_bw": "Shape of Output tensor {operand} provided does not match the broadcasted output shape {gradient}",
    "sub_bw": "Unary: Preallocated output shape must match computed shape. Computed: {gradient}, Preallocated: {operand}",
}

_ONE_TYPE = {
    **dict.fromkeys(
        [
            "acos_bw",
            "acosh_bw",
            "asin_bw",
            "atanh_bw",
            "clamp_bw",
            "clip_bw",
            "digamma_bw",
            "div_no_nan_bw",
            "hardshrink_bw",
            "hardsigmoid_bw",
            "hardswish_bw",
            "hardtanh_bw",
            "log10_bw",
            "log1p_bw",
            "log2_bw",
            "logit_bw",
            "polygamma_bw",
            "rdiv_bw",
            "relu6_bw",
            "relu_bw",
            "rpow_bw",
            "rsqrt_bw",
            "softshrink_bw",
            "threshold_bw",
            "where_bw",
        ],
        (0, 1),
    ),
    **dict.fromkeys(["max_bw", "min_bw"], (0, 2)),
    **dict.fromkeys(["atan2_bw", "hypot_bw", "xlogy_bw"], (1, 2)),
}
"""The two tensors that are of one type where both hold floating numbers."""

_NO_BLOCKS = frozenset({"logaddexp_bw", "logaddexp2_bw"})

_ONE_SHAPE = frozenset({"gelu_bw", "tanh_bw"})


def check(name: str, tensors: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for operands whose shapes do not go with the gradient's, the first of the tensors, and for forms without a gradient."""
    gradient, *operands = tensors
    _check_form(name, arguments)
    if name == "concat_bw" and any(len(tensor.shape) != 4 for tensor in tensors):
        ranks = [len(tensor.shape) for tensor in tensors]
        raise fatal(
            "concat_bw expects rank-4 tensors, got grad rank {}, input rank {}, other rank {}".format(*ranks),
            hint="ttnn.unsqueeze_to_4D(tensor)",
        )
    _check_types(name, tensors)
    gradient_layouts.check(name, tensors)
    if operands:
        gradient_layouts.check_room(name, operands[0], arguments.get("input_grad"))
    for place, operand in enumerate(operands):
        if name in _COPIES and operand.shape != gradient.shape:
            text = _OF_A_COPY if place == 0 else _OF_THE_SECOND.get(name, _OF_A_COPY)
            raise fatal(
                text.format(gradient=gradient.shape, operand=operand.shape),
                hint=f"{name} gives the gradient as it is: give an operand of its shape",
            )
        if name in _ONE_SHAPE and operand.shape != gradient.shape:
            raise fatal(
                f"{name.upper()} operation requires grad_output and input to have the same logical shape, but got "
                f"{gradient.shape} and {operand.shape}.",
                hint=f"ttnn.reshape or ttnn.repeat grad to {list(operand.shape)}",
            )
        if name == "concat_bw" and operand.dtype is not gradient.dtype and not _rooms(arguments):
            raise fatal(
                f"concat_bw cuts grad as it is: grad is of {cpp(gradient.dtype)} and operand {'ab'[place]} of {cpp(operand.dtype)}",
                "out_tensor.tensor_spec().tensor_layout() == spec_required.tensor_layout()",
                hint="ttnn.typecast(grad, input.dtype)",
            )
        if name == "prod_bw" and arguments.get("dim") is None and operand.is_sharded():
            raise fatal(
                f"Memory layout must be INTERLEAVED, got: {cpp(operand.memory_config().memory_layout)}",
                hint="ttnn.sharded_to_interleaved(input)",
            )
        if name == "repeat_bw" and len(operand.shape) and operand.shape[0] != 1:
            raise fatal(
                f"Input shape[0] must be 1 but got {operand.shape[0]}",
                "shape_wh[0] == 1",
                hint="ttnn.unsqueeze(input, 0)",
            )
        if name == "repeat_bw":
            _check_repeats(gradient, tuple(arguments["shape"]))
        if name == "mul_bw":
            _broadcasts(operand, gradient)


def _check_repeats(gradient: Tensor, times: tuple[int, ...]) -> None:
    """Raises RuntimeError for repeats along several dimensions, and for gradients of repeats that are not added up."""
    repeated = next((dim for dim in (0, 1) if dim < len(times) and times[dim] > 1), None)
    if repeated is None or len(times) != 4:
        return
    if any(count != 1 for dim, count in enumerate(times) if dim != repeated):
        rest = ", ".join(f"[{dim}]" for dim in range(4) if dim != repeated)
        raise fatal(f"repeat{rest} should be 1", hint="ttnn.repeat_bw of each dimension by itself")
    if gradient.layout is not Layout.TILE:
        raise fatal(
            "moreh_sum input only supports TILE layout.", hint="ttnn.to_layout(grad, ttnn.TILE_LAYOUT)"
        )
    if gradient.dtype not in (DataType.BFLOAT16, DataType.INT32):
        raise fatal(
            "moreh_sum input only supports specific data types. [BFLOAT16, INT32]",
            hint="ttnn.typecast(grad, ttnn.bfloat16)",
        )


def _check_form(name: str, arguments: Mapping[str, Any]) -> None:
    if name == "pow_bw" and arguments["exponent"] < 0:
        raise fatal(
            "negative exponents are not supported; use recip(pow(input,abs(exponent)))",
            "exponent >= 0.0",
            hint=f"ttnn.reciprocal_bw after ttnn.pow_bw(…, {-arguments['exponent']})",
        )
    if name == "embedding_bw" and arguments["dtype"] not in (
        None,
        arguments["output_gradient_tensor"].dtype,
    ):
        raise fatal(
            "Output and input gradient tensors must have the same dtype",
            hint=f"leave dtype out, and ttnn.typecast the result to {arguments['dtype']}",
        )
    if name == "polygamma_bw":
        check_order(arguments["n"] + 1)
    if name in _NEVER_NONE and not any(arguments.get("are_required_outputs") or (True,)):
        raise fatal(
            "At least one gradient is expected to be calculated.",
            hint=f"are_required_outputs={list(arguments['are_required_outputs'])}: leave out the call of ttnn.{name}",
        )
    if getattr(arguments.get("variant"), "name", "") == "FastLut":
        raise fatal(
            "GELU_BW does not support GeluVariant::FAST_LUT because no matching backward kernel is available.",
            hint="variant=ttnn.GeluVariant.Accurate or Tanh",
        )


def _check_types(name: str, tensors: Sequence[Tensor]) -> None:
    first, second = (tensors[place] for place in _ONE_TYPE.get(name, (0, 0)) if place < len(tensors))
    if first.dtype is not second.dtype and is_float(first.dtype) and is_float(second.dtype):
        raise fatal(
            f"Mixed dtype is not supported for {name}, dtype A: {cpp(first.dtype)}, dtype B: {cpp(second.dtype)}",
            hint=f"ttnn.typecast one of them to {first.dtype}",
        )
    if name in _NO_BLOCKS and any(tensor.dtype in BLOCK_FLOATS for tensor in tensors):
        raise fatal(
            "BFLOAT8_B/BFLOAT4_B dtypes are not supported !!", hint="ttnn.typecast(tensor, ttnn.bfloat16)"
        )


def _rooms(arguments: Mapping[str, Any]) -> bool:
    return any(arguments.get(name) is not None for name in ("input_a_grad", "input_b_grad"))


def _broadcasts(operand: Tensor, gradient: Tensor) -> None:
    rank = len(gradient.shape)
    for back, length in enumerate(reversed(tuple(operand.shape)), 1):
        room = gradient.shape[-back] if back <= rank else 1
        if length not in (1, room):
            raise fatal(
                f"binary_backward: operand shape {operand.shape} not broadcastable to grad shape {gradient.shape} at axis "
                f"{rank - back} (operand_dim={length}, grad_dim={room}); expected operand_dim == 1 or == grad_dim.",
                hint=f"ttnn.reshape or ttnn.slice so that axis {rank - back} is 1 or {room}",
            )
