"""Products of matrices and vectors with their backward forms. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import gradients, library
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.rows import PLACED, declare
from tt_run.runtime.ops.moreh import dimension_checks
from tt_run.runtime.ops.moreh.declaring import KERNELS, OUT, TUNED, by_tiles, row
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.tensor import Tensor


def check(name: str, tensors: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for operands whose shapes give no product, in the reference's words."""
    a, b = (tuple(tensor.shape) for tensor in tensors[:2])
    if name == "moreh_dot":
        _check_vectors(a, b)
        return
    turned = (
        arguments.get("transpose_input", False),
        arguments.get("transpose_other", name == "moreh_linear"),
    )
    if not any(turned) and _are_rows(a, b):
        return
    left, right = (_matrix(x)[::-1] if turn else _matrix(x) for x, turn in zip((a, b), turned, strict=True))
    if left[1] != right[0]:
        raise fatal(
            f"k must be the same. input_k {left[1]}, other_k {right[0]}",
            hint=f"{name} got {tensors[0].shape} and {tensors[1].shape}",
        )
    for back, (one, other) in enumerate(zip(reversed(a[:-2]), reversed(b[:-2]), strict=False), 2):
        if one != other and 1 not in (one, other):
            raise fatal(
                f"one of dim must be one. {back}th dim input_dim {one}, other_dim {other}",
                hint=f"ttnn.repeat, or ttnn.reshape so that dimension -{back + 1} is the same or 1",
            )


def _check_bias(name: str, tensors: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    check(name, tensors, arguments)
    bias = arguments.get("bias")
    if bias is None:
        return
    other = _matrix(tuple(tensors[1].shape))
    width = other[0 if arguments.get("transpose_other", name == "moreh_linear") else 1]
    if bias.shape.rank != 2:
        raise fatal(
            f"bias rank {bias.shape.rank} must be 2 (tilized).", hint=f"ttnn.reshape(bias, (1, {width}))"
        )
    if bias.shape[-1] not in (1, width):
        raise fatal(
            f"bias_w must be one or the same as other_n. bias_w {bias.shape[-1]}, other_n {width}",
            hint=f"a bias of shape (1, {width})",
        )


_ROOMS = {
    "moreh_bmm_backward": (
        ("input_grad", "input_grad needs to have a value when input_requires_grad is True."),
        ("mat2_grad", "mat2_grad needs to have a value when mat2_requires_grad is True."),
    ),
    "moreh_matmul_backward": (
        ("input_a_grad", "Input gradient is marked required but not provided."),
        ("input_b_grad", "Other gradient is marked required but not provided."),
    ),
    "moreh_linear_backward": tuple(
        (name, f"{name} tensor should not be std::nullopt")
        for name in ("input_grad", "weight_grad", "bias_grad")
    ),
}
"""The tensors that gradients go into, in their order, and what is said where one that is asked for is missing."""


def _check_rooms(name: str, tensors: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for a gradient that is asked for and has no tensor to go into."""
    asked = arguments["are_required_outputs"]
    for wanted, (room, words) in zip(asked, _ROOMS[name], strict=False):
        if wanted and arguments.get(room) is None:
            raise fatal(words, hint=f"{room}=ttnn.empty_like(…), or False for it in are_required_outputs")


def _matrix(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1, *shape)[-2:]


def _are_rows(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether both are one row in four dimensions, whose product is that of vectors."""
    return a == b and a[:-1] == (1, 1, 1)


_RANK = 4


def _check_vectors(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    for shape in (a, b):
        if len(shape) != _RANK or math.prod(shape[:-1]) != 1:
            raise fatal(
                "Invalid input tensor dimensions.", hint=f"moreh_dot takes vectors, got {Shape(shape)}"
            )
    if a[-1] != b[-1]:
        raise fatal(
            f"moreh_dot: the vectors have {a[-1]} and {b[-1]} elements",
            hint=f"ttnn.slice both to {min(a[-1], b[-1])} elements",
        )


def _matmul(a: Any, b: Any, transpose_input: bool = False, transpose_other: bool = False, bias: Any = None) -> Any:  # fmt: skip
    left, right = library().atleast_2d(a, b)
    transpose_other = transpose_other or (not transpose_input and _are_rows(tuple(a.shape), tuple(b.shape)))
    out = (left.mT if transpose_input else left) @ (right.mT if transpose_other else right)
    return out if bias is None else out + bias


def _linear_backward(gradient: Any, x: Any, weight: Any, bias: Any = None) -> list[Any]:
    found = gradients("matmul", 2)(gradient, x, weight.transpose(-1, -2))
    sums = gradient.reshape(-1, gradient.shape[-1]).sum(0)
    shape = (1, 1, 1, sums.numel()) if bias is None else bias.shape
    total = sums if bias is None or bias.numel() == sums.numel() else sums.sum()
    return [found[0], found[1].transpose(-1, -2).contiguous(), total.reshape(shape)]


PRODUCTS = declare(
    families.MOREH,
    row("matmul",
         f"(input: Tensor, other: Tensor, *, transpose_input: bool = False, transpose_other: bool = False, output: Tensor | None = None, bias: Tensor | None = None, {TUNED})",
         _matmul, "A product of matrices, either turned, with a bias.", integers=False, check=_check_bias),
    row("bmm", f"(input: Tensor, mat2: Tensor, *, {OUT})", _matmul, "Products of batches of matrices.", integers=False, check=check, fitted=by_tiles),
    row("linear", f"(input: Tensor, weight: Tensor, *, bias: Tensor | None = None, {OUT})",
         lambda x, w, bias=None: _matmul(x, w, transpose_other=True, bias=bias), "input @ weight transposed + bias.", integers=False, check=_check_bias),
    row("dot", f"(input_tensor_a: Tensor, input_tensor_b: Tensor, *, output: Tensor | None = None, dtype: DataType | None = None, {TUNED})",
         lambda a, b: (a.reshape(-1) @ b.reshape(-1)).reshape(1, 1, 1, 1), "The product of two vectors.", integers=False, check=check, fitted=by_tiles, keeps_type=True),
    row("matmul_backward",
         "(output_grad: Tensor, input_a: Tensor, input_b: Tensor, *, are_required_outputs: Sequence[bool] = (True, True), "
         f"input_a_grad: Tensor | None = None, input_b_grad: Tensor | None = None, {TUNED})",
         gradients("matmul", 2), "The gradients of a product's operands.", integers=False,
         check=_check_rooms),
    row("bmm_backward",
         "(output_grad: Tensor, input: Tensor, mat2: Tensor, *, are_required_outputs: Sequence[bool] = (True, True), input_grad: Tensor | None = None, "
         f"mat2_grad: Tensor | None = None, input_grad_memory_config: MemoryConfig | None = None, mat2_grad_memory_config: MemoryConfig | None = None, {KERNELS})",
         lambda g, a, b, *tuning: gradients("matmul", 2)(g, a, b), "The gradients of the operands of batches of products.",
         integers=False, check=_check_rooms, fitted=by_tiles, rooms=("input_grad", "mat2_grad")),
    row("linear_backward",
         "(output_grad: Tensor, input: Tensor, weight: Tensor, *, are_required_outputs: Sequence[bool] = (True, True, True), bias: Tensor | None = None, "
         "input_grad: Tensor | None = None, weight_grad: Tensor | None = None, bias_grad: Tensor | None = None, "
         f"input_grad_memory_config: MemoryConfig | None = None, weight_grad_memory_config: MemoryConfig | None = None, bias_grad_memory_config: MemoryConfig | None = None, {KERNELS})",
         lambda g, x, w, bias=None, *tuning: _linear_backward(g, x, w, bias), "The gradients of a linear layer's operands.",
         integers=False, check=_check_rooms, rooms=("input_grad", "weight_grad", "bias_grad"), on_request=0),
    row("dot_backward",
         f"(output_grad: Tensor, input: Tensor, other: Tensor, *, input_grad: Tensor | None = None, other_grad: Tensor | None = None, {PLACED})",
         lambda g, a, b: [g * b, g * a], "The gradients of a product of vectors, those that have room.",
         check=dimension_checks.scalar, integers=False, rooms=("input_grad", "other_grad"), on_request=0),
)  # fmt: skip
