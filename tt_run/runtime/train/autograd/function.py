"""`ttml.autograd.Function`: an operation written in Python, forward and backward side by side."""

from __future__ import annotations

import inspect
from functools import partial
from types import FunctionType
from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.tensor.tensor import Tensor as Value
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.operation import result
from tt_run.runtime.train.autograd.tensor import Tensor


class FunctionContext:
    """What forward keeps for backward: `save_for_backward` for tensors, attributes for anything else."""

    def __init__(self) -> None:
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors until the backward pass."""
        self.saved_tensors = tensors


class Function:
    """Derive, define `forward(ctx, *args)` and `backward(ctx, *gradients)` as static methods, and call `apply`.

    forward returns a mesh tensor (ttnn.Tensor) or a tuple of them; backward takes as many gradients, zeros for results that nothing depends
    on, and returns one mesh tensor or None for each autograd tensor among the arguments, in order, or None for all. A forward that computes
    with autograd tensors and returns what came out needs no backward, and one that it has is not called. Raises RuntimeError when backward
    returns another number of gradients or fails, and for results of which operations of the graph have made some.
    """

    @staticmethod
    def forward(ctx: FunctionContext, *args: Any) -> Any:
        """The value of the operation, or its values."""
        raise NotImplementedError(
            "a Function defines forward(ctx, *args); help: write it as a static method of the class"
        )

    @staticmethod
    def backward(ctx: FunctionContext, *gradients: Value) -> Any:
        """The gradients of the tensors among the arguments."""
        raise NotImplementedError(
            "a Function defines backward(ctx, *gradients); help: write it as a static method of the class; a gradient for each tensor of forward"
        )

    @classmethod
    def apply(cls, *args: Any, **named: Any) -> Any:
        """Run forward and enter the operation into the graph; a tuple of tensors when forward gives one. Raises TypeError for named arguments."""
        if named:
            raise TypeError(
                f"{cls.__name__}.apply() takes arguments by their places, not {', '.join(named)}; "
                f"help: {cls.__name__}.apply({', '.join(f'{value!r:.20}' for value in named.values())})"
            )
        for name in ("forward", "backward"):
            if isinstance(inspect.getattr_static(cls, name), FunctionType):
                raise TypeError(
                    f"{cls.__name__}.{name} is no static method; help: @staticmethod above def {name}(ctx, …)"
                )
        context = FunctionContext()
        inputs = [argument for argument in args if isinstance(argument, Tensor)]
        # An operation without tensors among its arguments is a leaf, as if one that wants no gradient had been.
        sources = inputs or [Tensor(requires_grad=False)]
        made = cls.forward(context, *args)
        if cls._in_the_graph(made) or (cls.backward is Function.backward and _entered(made)):
            return made
        if not isinstance(made, (tuple, list)):
            return result(
                _returned(cls, made), sources, lambda gradient: cls._pass_on(context, inputs, gradient)
            )
        return cls._several([_returned(cls, value) for value in made], context, sources)

    @classmethod
    def _in_the_graph(cls, made: Any) -> bool:
        """Whether operations of the graph made all results, none of which has to be entered. Raises RuntimeError for some of them."""
        if not AutoContext.get_instance().records:
            return False
        several = made if isinstance(made, (tuple, list)) else (made,)
        known = [isinstance(value, Tensor) and value.get_node() is not None for value in several]
        if any(known) and not all(known):
            raise RuntimeError(
                f"{cls.__name__}.forward() returned a mix of outputs with and without autograd graph nodes; "
                "help: ttml operations for all of them, or ttnn operations alone and a backward()"
            )
        return bool(known) and all(known)

    @classmethod
    def _several(
        cls, made: list[Value], context: FunctionContext, inputs: list[Tensor]
    ) -> tuple[Tensor, ...]:
        """Each result hangs on one hub, whose rule runs once, after the gradients of all of them have arrived."""
        arrived: dict[int, Value] = {}

        def join(_: Value) -> None:
            gradients = [
                arrived[i] if i in arrived else stacks.full_like(value, 0.0) for i, value in enumerate(made)
            ]
            cls._pass_on(context, inputs, *gradients)
            arrived.clear()

        hub = result(made[0], inputs, join)

        def keep(number: int, gradient: Value) -> None:
            arrived[number] = gradient
            # The hub's rule runs once it has a gradient; which one does not matter.
            hub.set_grad(stacks.full_like(made[0], 0.0))

        return tuple(result(value, (hub,), partial(keep, i)) for i, value in enumerate(made))

    @classmethod
    def _pass_on(cls, context: FunctionContext, inputs: list[Tensor], *gradients: Value) -> None:
        try:
            found = cls.backward(context, *gradients)
        except RuntimeError:
            raise
        except Exception as error:
            raise RuntimeError(f"Error in backward of {cls.__name__}: {error}") from error
        own = found if isinstance(found, (tuple, list)) else (found,)
        if found is None:
            own = (None,) * len(inputs)
        # None at the end is for arguments that were left out, as PyTorch has it.
        while len(own) > len(inputs) and own[-1] is None:
            own = own[:-1]
        if len(own) != len(inputs):
            raise RuntimeError(
                f"{cls.__name__}.backward returned {len(own)} gradients for {len(inputs)} tensors; help: return one gradient, or None, for each tensor that forward was given"
            )
        for tensor, gradient in zip(inputs, own, strict=True):
            if gradient is not None:
                tensor.add_grad(_plain(gradient))


def _entered(made: Any) -> bool:
    """Whether operations of the graph made all that forward returned, and so know its gradients."""
    several = made if isinstance(made, (tuple, list)) else (made,)
    return all(isinstance(value, Tensor) for value in several)


def _returned(kind: type[Function], value: Any) -> Value:
    """What forward returned as a plain tensor. Raises TypeError for what is no tensor."""
    if not isinstance(value, (Tensor, Value)):
        raise TypeError(
            f"{kind.__name__}.forward returns a tensor or a tuple of tensors, not {type_name(value)}; help: return the ttnn.Tensor that was computed"
        )
    return _plain(value)


def _plain(value: Any) -> Value:
    found: Value = value.get_value() if isinstance(value, Tensor) else value
    return found
