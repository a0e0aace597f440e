"""`ttml.autograd.callback`: call a function when the backward pass comes by."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.operation import result
from tt_run.runtime.train.autograd.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


def callback(tensor: Tensor, fn: Callable[[], object]) -> Tensor:
    """The same value; once its gradient is complete, `fn()` is called and the gradient goes on to `tensor`."""

    def rule(gradient: Value) -> None:
        fn()
        tensor.add_grad(gradient)

    return result(tensor.get_value(PreferredPrecision.NATIVE), (tensor,), rule)
