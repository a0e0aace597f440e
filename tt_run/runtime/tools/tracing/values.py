"""Tensors within the arguments and results of a call: found, exchanged, and named as the call names them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tt_run.runtime.tensor.model_parameters.module_calls import is_record, leaves
from tt_run.runtime.tools.tracing.nodes import InputTensorIndex, PositionalArgumentName
from tt_run.runtime.tools.tracing.places import NodeOutput, place_of


def is_traced(value: object) -> bool:
    """Whether it is known which node a tensor comes from."""
    return place_of(value) is not None


def exchanged(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same with each leaf changed; what holds no changed leaf stays the object that it is."""
    if isinstance(value, (tuple, list)):
        items = [exchanged(item, change) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if is_record(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        made = {name: exchanged(item, change) for name, item in fields.items()}
        return value if all(made[name] is fields[name] for name in made) else type(value)(**made)
    if isinstance(value, dict):
        made = {name: exchanged(item, change) for name, item in value.items()}
        return value if all(made[name] is value[name] for name in made) else made
    return change(value)


def get_input_tensors(object: Any) -> list[Any]:
    """The traced tensors of arguments."""
    return [leaf for leaf in leaves(object) if is_traced(leaf)]


def places_in(value: Any) -> list[NodeOutput]:
    """Where the traced tensors of arguments or results come from."""
    return [place for place in map(place_of, leaves(value)) if place is not None]


def argument_names(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The names of a function's parameters; places and keywords where it tells none, or fewer than it was given."""
    given = [*map(PositionalArgumentName, range(len(args))), *kwargs]
    signature = _signature(function)
    if signature is None or inspect.isbuiltin(function) or inspect.ismethoddescriptor(function):
        return given
    names = ["self"] * inspect.ismethod(function) + list(signature.parameters)
    return names if len(names) >= len(args) + len(kwargs) else given


def get_arg_name_value_pairs(
    function: Any, *, function_args: Sequence[Any], function_kwargs: Mapping[str, Any]
) -> list[tuple[Any, Any]]:
    """The arguments of a call by name, without those that equal their default; traced tensors by the number of their edge."""
    names = argument_names(function, function_args, function_kwargs)
    signature = _signature(function)
    pairs = list(zip(names, function_args, strict=False))
    pairs += [
        (name, function_kwargs[name]) for name in names[len(function_args) :] if name in function_kwargs
    ]
    edges = iter(range(len(get_input_tensors([function_args, function_kwargs]))))

    def numbered(leaf: Any) -> Any:
        return InputTensorIndex(next(edges)) if is_traced(leaf) else leaf

    return [
        (name, exchanged(value, numbered))
        for name, value in pairs
        if signature is None or not _is_default(signature, name, value)
    ]


def _is_default(signature: inspect.Signature, name: Any, value: Any) -> bool:
    parameter = signature.parameters.get(name) if isinstance(name, str) else None
    if parameter is None or parameter.default is parameter.empty:
        return False
    if value is parameter.default:
        return True
    return type(value) in (bool, int, float, str, tuple, list) and bool(value == parameter.default)


def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None
