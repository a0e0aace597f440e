"""Entering an operation into the graph: its result, its inputs, its backward rule; and into the stream of events.

An operation that is `recorded` emits one event for its forward pass and one for its backward rule, when somebody listens.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tt_run.runtime import events
from tt_run.runtime.enums import DataType
from tt_run.runtime.native.arguments import called
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.observation import emit
from tt_run.runtime.train.autograd.variable import Variable
from tt_run.runtime.values.at_rest import dense

if TYPE_CHECKING:
    from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
    from tt_run.runtime.tensor.tensor import Tensor as Value

Rule = Callable[["Value"], None]
Call = TypeVar("Call", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound=Variable)

FAULTS = (AttributeError, TypeError, ValueError, ZeroDivisionError)
"""What a call with an argument of another kind may run into."""

_running = ""
"""The operation whose forward pass runs."""
_told = 0
"""How many forward passes have been told of."""


def recorded(function: Call) -> Call:
    """Emit an event of kind "op" for each call of an operation, named `ttml.<function>`; a call that fails for an argument of another kind than
    the signature's raises TypeError that names it."""
    name = f"ttml.{function.__name__}"

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        global _running, _told
        before, told, _running = _running, _told, name
        start = events.now() if events.listening else 0.0
        try:
            out = function(*args, **kwargs)
        except FAULTS as error:
            blame(name, function, args, kwargs, error)
            raise
        finally:
            _running = before
        if events.listening:
            results = _variables(out)
            given = [value for value in (*args, *kwargs.values()) if isinstance(value, Variable)]
            # What consists of other recorded operations is told of by those.
            facts = {} if _told != told else {"operands": _specs(given), "results": _specs(results)}
            _told += 1
            emit("op", name, start, results[0].get_value(), **facts)
        return out

    return cast(Call, run)


def naming_faults(function: Call) -> Call:
    """As `recorded`, without events: for what only makes something, and for `__init__`, where the class is named."""
    name = f"ttml.{called(function)}"

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except FAULTS as error:
            blame(name, function, args, kwargs, error)
            raise

    return cast(Call, run)


def blame(
    name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], error: Exception
) -> None:
    """Raise TypeError for the argument that a failed call is to blame for, unless the error says what to do."""
    if "help:" in str(error):
        return
    from tt_run.runtime.train.autograd.arguments import misfit

    wrong = misfit(function, args, kwargs)
    if wrong:
        raise TypeError(f"{name}(): incompatible function arguments: {wrong}") from None


def _variables(out: Any) -> tuple[Variable, ...]:
    """The autograd tensors of a result: it, or those in a tuple or in an object that names what it holds."""
    if isinstance(out, Variable):
        return (out,)
    held = out if isinstance(out, tuple) else vars(out).values()
    return tuple(value for value in held if isinstance(value, Variable))


def _specs(tensors: Sequence[Variable]) -> tuple[TensorSpec, ...]:
    """What tensors are like, as events tell it."""
    return tuple([tensor.get_value().spec for tensor in tensors])


def result(value: Value, inputs: Sequence[Kind], rule: Rule) -> Kind:
    """A tensor that came out of `inputs`, at least one; `rule` gets the gradient of the result and adds to those of the inputs.

    A result of which no input wants a gradient is a leaf that wants none either: nothing is kept for it. Raises RuntimeError when the
    mesh is closed.
    """
    device = value.device()
    if device is not None:
        device.require_open("ttml")
    context = AutoContext.get_instance()
    out, name = inputs[0].sibling(value), _running
    wanted = any(tensor.get_requires_grad() for tensor in inputs)
    if not wanted:
        out.set_requires_grad(False)
    if not context.records:
        dense.is_tight = False  # text that is generated reads the same weights over and over
        out.unrecorded = True
        return out
    if not wanted:
        return out

    def backward() -> None:
        if out.is_grad_initialized() and not out.passed_on:
            start, gradient = events.now(), out.get_grad()
            rule(gradient)
            out.passed_on = context.graph.is_retained
            if name and events.listening:
                emit(
                    "op",
                    f"{name} backward",
                    start,
                    gradient,
                    operands=_specs(inputs),
                    results=_specs((out,)),
                )

    if value.dtype is DataType.BFLOAT16:
        dense.is_tight = True
    links = [node for tensor in inputs if (node := tensor.get_node()) is not None]
    out.set_node(context.graph.add_node(backward, links))
    return out
