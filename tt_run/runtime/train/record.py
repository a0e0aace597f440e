"""Entering an operation into the graph: its result, its inputs, its backward rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tt_run.runtime.train.context import AutoContext
from tt_run.runtime.train.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Rule = Callable[["Value"], None]


def result(value: Value, inputs: Iterable[Tensor], rule: Rule) -> Tensor:
    """A tensor that came out of `inputs`; `rule` gets the gradient of the result and adds to those of the inputs.

    A result of which no input wants a gradient is a leaf that wants none either: nothing is kept for it.
    """
    inputs = tuple(inputs)
    context = AutoContext.get_instance()
    out = Tensor(value)
    if not context.records:
        return out
    if not any(tensor.get_requires_grad() for tensor in inputs):
        out.set_requires_grad(False)
        return out

    def backward() -> None:
        if out.is_grad_initialized():
            rule(out.get_grad())

    links = [node for tensor in inputs if (node := tensor.get_node()) is not None]
    out.set_node(context.graph.add(backward, links))
    return out
