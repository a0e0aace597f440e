"""What is wrong with a call that failed: arguments that are not what the operation's signature says. Looked at after the failure only, so that
calls that are right pay nothing."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, get_origin

import numpy as np

from tt_run.runtime.errors import type_name
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.arguments import called, nearest, parameter_words
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.train.autograd.variable import Variable

TENSOR = "a ttml.autograd.Tensor"
_KINDS: Mapping[str, tuple[type, str]] = {
    "Tensor": (Variable, TENSOR),
    "Kind": (Variable, TENSOR),
    "Value": (Tensor, "a ttnn.Tensor"),
    "int": (Integral, "an int"),
    "float": (Real, "a float"),
    "bool": (bool, "a bool"),
    "str": (str, "a str"),
    "Sequence[int]": (Sequence, "a sequence of ints"),
    "Mapping": (Mapping, "a map"),
    "Array": (np.ndarray, "a NumPy array"),
    "Callable": (Callable, "a function"),  # type: ignore[dict-item]
    "MeshDevice": (MeshDevice, "an open mesh"),
}
_MODULES = ("ModuleBase", "AbstractModuleBase")
_EXAMPLES = {
    "int": "1",
    "float": "1.0",
    "bool": "True",
    "str": "'…'",
    "Sequence[int]": "[1, 1, 32, 32]",
    "Mapping": "{…}",
    "Array": "np.zeros((1, 1, 32, 32), np.float32)",
    "Callable": "lambda …: …",
    "MeshDevice": "ttml.autograd.AutoContext.get_instance().get_device()",
    **dict.fromkeys(_MODULES, "ttml.modules.LinearLayer(32, 32)"),
}


def misfit(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """What does not bind, or the first argument that is of another kind than the signature's, as a sentence with a hint; empty where there is none."""
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as unbound:
        near = nearest(function, kwargs, args)
        own = [each for each in signature.parameters.values() if each.name != "self"]
        return f"{unbound}{near or f'; help: {called(function)}({parameter_words(own)})'}"
    for name, value in given.items():
        kinds = [_bare(kind) for kind in str(signature.parameters[name].annotation).split(" | ")]
        known = {kind: _KINDS.get(kind) or _class_of(function, kind) for kind in kinds if kind != "None"}
        if None in known.values() or ("None" in kinds and value is None):
            continue
        if any(_is_of(value, found[0]) for found in known.values() if found):
            continue
        words = " or ".join(found[1] for found in known.values() if found)
        hint = _hint(name, signature.parameters[name].default, next(iter(known.items())), value)
        return f"'{name}' must be {words}, not {type_name(value)}{hint}"
    return ""


def _bare(kind: str) -> str:
    """`Mapping` of `Mapping[str, Any]`: what a map holds and a function takes is not looked at."""
    plain = kind.partition("[")[0]
    return plain if plain in _KINDS else kind


def _class_of(function: Callable[..., Any], kind: str) -> tuple[type, str] | None:
    """A class that the function's own module names."""
    found = getattr(inspect.unwrap(function), "__globals__", {}).get(kind)
    if (
        not isinstance(found, type) or get_origin(found) is not None or found is Any
    ):  # Python 3.10 takes list[int] for a type
        return None
    return found, "a module of ttml" if kind in _MODULES else f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"


def _is_of(value: object, kind: type) -> bool:
    if isinstance(value, bool) and kind in (Integral, Real):
        return False
    return isinstance(value, kind) and not (isinstance(value, str) and kind is Sequence)


def _hint(name: str, default: object, wanted: tuple[str, tuple[type, str] | None], value: object) -> str:
    """What may be given instead."""
    kind, found = wanted
    if kind in _EXAMPLES:
        usual = repr(default) if type(default) in (int, float, bool) else _EXAMPLES[kind]
        return f"; help: {name}={usual}"
    if kind not in _KINDS and found is not None:
        members = list(found[0]) if issubclass(found[0], enum.Enum) else []
        return f"; help: {name}={kind}.{members[0].name}" if members else f"; help: {name}={kind}(…)"
    return way_in(value) or "; help: ttml.autograd.Tensor.from_numpy(array)" + ".get_value()" * (
        kind == "Value"
    )


def way_in(value: object) -> str:
    """How an array of another library becomes a tensor, as a hint; empty for what is no array."""
    origin = type(value).__module__.partition(".")[0]
    if origin == "numpy":
        return "; help: ttml.autograd.Tensor.from_numpy(array)"
    if origin == "torch":
        return "; help: ttml.autograd.Tensor.from_numpy(tensor.numpy())"
    return ""
