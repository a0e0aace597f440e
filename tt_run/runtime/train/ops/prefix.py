"""The first positions of activations, and the first entries of logits, as models cut padding off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.function import Function, FunctionContext
from tt_run.runtime.train.autograd.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


class SequencePrefixSlice(Function):
    """`apply(x, length)`: [B, H, S, D] -> [B, H, length, D]; the gradient of what is cut off is zero. Raises ValueError for a length past S."""

    @staticmethod
    def forward(ctx: FunctionContext, x: Tensor, length: int) -> Value:
        """The first `length` positions."""
        whole = x.shape()[2]
        if not 0 < length <= whole:
            raise ValueError(f"SequencePrefixSlice: {length} positions of {whole}")
        ctx.rest = whole - length  # type: ignore[attr-defined]
        return stacks.moved(lambda stack: stack[:, :, :, :length], x.get_value())

    @staticmethod
    def backward(ctx: FunctionContext, gradient: Value) -> Value:  # type: ignore[override]
        """Zeros behind the gradient."""
        around = [(0, 0), (0, 0), (0, 0), (0, ctx.rest), (0, 0)]  # type: ignore[attr-defined]
        return stacks.moved(lambda stack: np.pad(stack, around), gradient)


class SliceLastDim(Function):
    """`apply(x, width)`: [..., D] -> [..., width]; the gradient of what is cut off is zero. Raises ValueError for a width past D."""

    @staticmethod
    def forward(ctx: FunctionContext, x: Tensor, width: int) -> Value:
        """The first `width` entries of the last dimension."""
        whole = x.shape()[-1]
        if not 0 < width <= whole:
            raise ValueError(f"SliceLastDim: {width} entries of {whole}")
        ctx.rest = whole - width  # type: ignore[attr-defined]
        return stacks.moved(lambda stack: stack[..., :width], x.get_value())

    @staticmethod
    def backward(ctx: FunctionContext, gradient: Value) -> Value:  # type: ignore[override]
        """Zeros behind the gradient."""
        rest: int = ctx.rest  # type: ignore[attr-defined]
        return stacks.moved(lambda g: np.pad(g, [(0, 0)] * (g.ndim - 1) + [(0, rest)]), gradient)
