"""What is wrong with a call that failed: arguments that are not what the operation's signature says. Looked at after the failure only, so that
calls that are right pay nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from tt_run.runtime.errors import type_name
from tt_run.runtime.native.arguments import nearest
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.train.autograd.variable import Variable

TENSOR = "a ttml.autograd.Tensor"
_KINDS: Mapping[str, tuple[type, str]] = {
    "Tensor": (Variable, TENSOR),
    "Kind": (Variable, TENSOR),
    "Value": (Tensor, "a ttnn.Tensor"),
    "int": (Integral, "an int"),
    "float": (Real, "a float"),
}


def misfit(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """What does not bind, or the first argument that is of another kind than the signature's, as a sentence; empty where there is none."""
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as unbound:
        return f"{unbound}{nearest(function, kwargs, args)}"
    for name, value in given.items():
        kinds = str(signature.parameters[name].annotation).split(" | ")
        if not set(kinds) <= {*_KINDS, "None"} or ("None" in kinds and value is None):
            continue
        wanted = [_KINDS[kind] for kind in kinds if kind != "None"]
        if not isinstance(value, tuple(kind for kind, _ in wanted)):
            text = f"'{name}' must be {' or '.join(word for _, word in wanted)}, not {type_name(value)}"
            return text + (way_in(value) if wanted[0][1] == TENSOR else "")
    return ""


def way_in(value: object) -> str:
    """How an array of another library becomes a tensor, as a hint; empty for what is no array."""
    origin = type(value).__module__.partition(".")[0]
    if origin == "numpy":
        return "; help: ttml.autograd.Tensor.from_numpy(array)"
    if origin == "torch":
        return "; help: ttml.autograd.Tensor.from_numpy(tensor.numpy())"
    return ""
