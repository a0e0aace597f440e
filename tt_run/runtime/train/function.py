"""`ttml.autograd.Function`: an operation written in Python, forward and backward side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt_run.runtime.train.record import result
from tt_run.runtime.train.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


class FunctionContext:
    """What forward keeps for backward: `save_for_backward` for tensors, attributes for anything else."""

    def __init__(self) -> None:
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors until the backward pass."""
        self.saved_tensors = tensors


class Function:
    """Derive, define `forward(ctx, *args)` and `backward(ctx, gradient)` as static methods, and call `apply`.

    forward returns a mesh tensor (ttnn.Tensor); backward returns one mesh tensor or None for each autograd tensor among the arguments, in
    order. Raises RuntimeError when backward returns another number of gradients.
    """

    @staticmethod
    def forward(ctx: FunctionContext, *args: Any) -> Value:
        """The value of the operation."""
        raise TypeError("a Function defines forward(ctx, *args)")

    @staticmethod
    def backward(ctx: FunctionContext, gradient: Value) -> Any:
        """The gradients of the tensors among the arguments."""
        raise TypeError("a Function defines backward(ctx, gradient)")

    @classmethod
    def apply(cls, *args: Any) -> Tensor:
        """Run forward and enter the operation into the graph."""
        context = FunctionContext()
        inputs = [argument for argument in args if isinstance(argument, Tensor)]
        value = cls.forward(context, *args)
        value = value.get_value() if isinstance(value, Tensor) else value

        def rule(gradient: Value) -> None:
            found = cls.backward(context, gradient)
            gradients = found if isinstance(found, (tuple, list)) else (found,)
            if len(gradients) != len(inputs):
                raise RuntimeError(
                    f"{cls.__name__}.backward returned {len(gradients)} gradients for {len(inputs)} tensors"
                )
            for tensor, own in zip(inputs, gradients, strict=True):
                if own is not None:
                    tensor.add_grad(own.get_value() if isinstance(own, Tensor) else own)

        return result(value, inputs, rule)
