"""Layouts that backward operations take beside the gradient's. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.enums import Layout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.ops.declaration.element_types import unary_result
from tt_run.runtime.tensor.tensor import Tensor

_COPIED = {"add_bw": 1, "addalpha_bw": 1, "sub_bw": 1, "subalpha_bw": 1, "assign_bw": 2}
"""Into how many tensors, like the first operands, the gradient is copied; `assign_bw` copies nothing beside one operand alone."""

_ALIKE = {"gelu_bw": "GELU_BW", "bias_gelu_bw": "GELU_BW", "sigmoid_bw": "SIGMOID_BW", "tanh_bw": "TANH_BW"}
"""The kernels that take gradient and operand in one layout."""

_WRITTEN_LIKE = {"neg_bw": 1, "rsqrt_bw": 1, "sub_bw": 2, "subalpha_bw": 2}
"""The tensor that the gradient of a result is written into one like."""

_WRITTEN = {
    **dict.fromkeys(["exp_bw", "silu_bw", "sqrt_bw"], (0, 1)),
    **dict.fromkeys(["mul_bw", "div_bw"], (0,)),
}
"""The tensors of which one is in tiles where a result is written into a tensor: of `mul_bw` and `div_bw` beside a number."""

_CHOOSING = {"max_bw": (1, 2), "min_bw": (1, 2), "addcdiv_bw": (3,)}
"""The tensors of which one in tiles makes a predicate be in tiles."""

_INTO_ROWS = (
    "Optional output tensor with Row Major input is not supported right now for Elementwise operations"
)
_PREDICATE = "Ternary operation requires tensor to be in Tile layout when working with non-sharded input tensor. Input tensor layout: 0"


def check(name: str, tensors: Sequence[Tensor]) -> None:
    """Raises RuntimeError for a gradient, the first of the tensors, and operands that a device does not take beside each other."""
    gradient, *operands = (tensor.layout for tensor in tensors)
    copies = _COPIED.get(name, 0) if name != "assign_bw" or len(operands) > 1 else 0
    for layout in operands[:copies]:
        if layout is not gradient:
            raise fatal(
                f"Input tensor layout ({cpp(gradient)}) must equal output tensor layout ({cpp(layout)})",
                "input_tensor_a.layout() == out_tensor.layout()",
                hint=_like(layout),
            )
    operand = Layout.TILE if Layout.TILE in operands else Layout.ROW_MAJOR
    if name in _ALIKE and operand is not gradient:
        raise fatal(
            f"{_ALIKE[name]} operation requires grad_output and input to have the same layout, but got {cpp(gradient)} and {cpp(operand)}.",
            hint=_like(operand),
        )
    _check_written(name, tensors)
    chosen = [tensors[place] for place in _CHOOSING.get(name, ()) if place < len(tensors)]
    # That of addcdiv_bw lies where its first operand does.
    placed = tensors[1:2] if name == "addcdiv_bw" else chosen
    if _in_rows(chosen) and not any(tensor.is_sharded() for tensor in placed):
        raise fatal(_PREDICATE, hint=in_tiles("input"))


_UNARY = frozenset({"neg_bw", "sqrt_bw", "rsqrt_bw"})
"""What is written by a function of one operand; the roots choose between it and a number beside it."""


def check_room(name: str, operand: Tensor, room: object) -> None:
    """Raises RuntimeError for a tensor given for a gradient that has another type or layout than the operand, where those must agree."""
    if not isinstance(room, Tensor):
        return
    if name in _UNARY:
        _check_unary_room(name, operand, room)
    kernel = _ALIKE.get(name)
    if kernel is None:
        return
    if room.dtype is not operand.dtype:
        raise fatal(
            f"{kernel} operation requires the input and output data types to match. Input data type: {cpp(operand.dtype)}, output data "
            f"type: {cpp(room.dtype)}",
            hint=f"leave input_grad out, or make it with dtype={operand.dtype}",
        )
    if room.layout is not operand.layout:
        raise fatal(
            f"{kernel} operation requires a preallocated output tensor to have the same layout as the input. Input layout: "
            f"{cpp(operand.layout)}, preallocated output layout: {cpp(room.layout)}",
            hint=f"leave input_grad out, or make it with layout=ttnn.{operand.layout.name}_LAYOUT",
        )


def _check_unary_room(name: str, operand: Tensor, room: Tensor) -> None:
    if room.layout is not operand.layout:
        raise _unlike(room.layout, operand.layout)
    unary_result(operand.dtype, room.dtype)
    if name != "neg_bw" and room.dtype is not operand.dtype:
        raise fatal(
            f"Mixed dtype is not supported for binary operation BinaryOpType::WHERE_TST, dtype A: {cpp(operand.dtype)}, dtype B: "
            f"{cpp(room.dtype)}",
            hint=f"leave input_grad out, or make it with dtype={operand.dtype}",
        )


def _unlike(output: Layout, given: Layout) -> RuntimeError:
    out, into = (int(layout is Layout.TILE) for layout in (output, given))
    return fatal(
        f"Unary: Output format (tile/row-major) must match input when preallocated. Output: {out}, Input: {into}",
        "output_tensor->layout() == input_tensor.layout()",
        hint=_like(output),
    )


def _check_written(name: str, tensors: Sequence[Tensor]) -> None:
    """What is written into a tensor that is made before it."""
    gradient, like = tensors[0].layout, _WRITTEN_LIKE.get(name, len(tensors))
    if like < len(tensors) and tensors[like].layout is not gradient:
        raise _unlike(tensors[like].layout, gradient)
    written = list(_WRITTEN.get(name, ()))
    if name == "div_bw" and len(tensors) > 2:
        written.append(2)
    elif name == "mul_bw" and len(tensors) > 2:
        written.clear()
    if _in_rows([tensors[place] for place in written]):
        raise fatal(_INTO_ROWS, hint=in_tiles("grad"))


def _in_rows(tensors: Sequence[Tensor]) -> bool:
    return bool(tensors) and all(tensor.layout is Layout.ROW_MAJOR for tensor in tensors)


def _like(layout: Layout) -> str:
    return f"ttnn.to_layout(grad, ttnn.{layout.name}_LAYOUT)"
