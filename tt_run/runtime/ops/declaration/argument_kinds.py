"""Of what kinds the arguments of an operation are, from the annotations of its function: as strict as the reference's own binding.

True and False alone are bool; int takes what has an index, float also what has a value, and neither takes text; a sequence is no text, set
or iterator; None is taken where the annotation names it. What an annotation does not tell (`object`, `Any`, names of unions) is not looked
at here, unless the parameter's name tells it. Source: reference library 0.81.1.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tt_run.runtime import tuning
from tt_run.runtime.enums import NamedEnum
from tt_run.runtime.errors import type_name
from tt_run.runtime.native.classes import Native
from tt_run.runtime.tensor.tensor import Tensor


class Kind(NamedTuple):
    """What a parameter takes: exact types that do, a test of the others, and how to say it."""

    exact: frozenset[type]
    fits: Callable[[Any], bool]
    text: str

    def takes(self, value: Any) -> bool:
        """Whether a value is one of them."""
        return type(value) in self.exact or self.fits(value)

    def fault(self, name: str, value: Any) -> str:
        """What to say of a value that is none of them."""
        if _sequence(value) and "Sequence[int]" in self.text:
            return f"{name}: expected a sequence of ints, got {value!r}"
        return f"{name} must be of type {self.text}, not {type_name(value)}"


class Kinds(NamedTuple):
    """The kinds of an operation's parameters: by name, and in their order.

    None: anything, as for tensors, of which an operation knows more to say when it is given something else.
    """

    words: Mapping[str, Kind]
    places: tuple[Kind | None, ...]
    names: tuple[str, ...]


def kinds_of(function: Callable[..., Any]) -> Kinds:
    """The kinds that a function's annotations tell, or else the names of its parameters."""
    parameters = inspect.signature(function).parameters.values()
    space = getattr(function, "__globals__", {})
    found = {p.name: _kind(p.annotation, space) or _by_name(p.name) for p in parameters}
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        positional = []
    return Kinds(
        {name: kind for name, kind in found.items() if kind is not None},
        tuple(None if "Tensor" in str(p.annotation) else found[p.name] for p in positional),
        tuple(p.name for p in positional),
    )


def _kind(annotation: Any, space: Mapping[str, Any]) -> Kind | None:
    """The kind that an annotation names, None when a part of it is unknown."""
    if not isinstance(annotation, str):
        return None
    words = [word.strip() for word in _parts(annotation)]
    parts = [_part(word, space) for word in words]
    if not all(parts):
        return None
    known = [part for part in parts if part is not None]
    exact: frozenset[type] = frozenset().union(*(part.exact for part in known))
    tests = tuple(part.fits for part in known)
    text = " | ".join(word for word in words if word != "None")
    return Kind(exact, lambda value: any(test(value) for test in tests), text)


def _parts(annotation: str) -> list[str]:
    """The members of a union: what stands between bars outside of brackets."""
    depth, found = 0, [""]
    for letter in annotation:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found


def _never(value: Any) -> bool:
    return False


def _whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _real(value: Any) -> bool:
    return _whole(value) or (hasattr(value, "__float__") and not isinstance(value, (str, bytes, Tensor)))


def _sequence(value: Any) -> bool:
    return (
        hasattr(value, "__len__")
        and hasattr(value, "__getitem__")
        and not isinstance(value, (str, bytes, Mapping, Tensor))
    )


def _wholes(value: Any) -> bool:
    return _sequence(value) and all(map(_whole, value))


_PLAIN = {
    "None": Kind(frozenset({type(None)}), _never, "None"),
    "bool": Kind(frozenset({bool}), _never, "bool"),
    "int": Kind(frozenset({int}), _whole, "int"),
    "float": Kind(frozenset({float, int}), _real, "float"),
    "str": Kind(frozenset({str}), _never, "str"),
    "Tensor": Kind(frozenset({Tensor}), lambda value: isinstance(value, Tensor), "Tensor"),
}


def _part(word: str, space: Mapping[str, Any]) -> Kind | None:
    if word in _PLAIN:
        return _PLAIN[word]
    if word == "Sequence[int]":
        return Kind(frozenset(), _wholes, word)
    if word.startswith(("Sequence[", "list[", "tuple[")):
        return Kind(frozenset(), _sequence, word)
    named = space.get(word)
    if not isinstance(named, type) or named is Any:
        return None if word not in _CLASSES else Kind(frozenset(), _is_a(word), word)
    if issubclass(named, NamedEnum):
        # The reference's own take their numbers as well.
        return Kind(frozenset({named}), lambda value: isinstance(value, (named, int)), word)
    return Kind(frozenset({named}), lambda value: isinstance(value, named), word)


def _is_a(*names: str) -> Callable[[Any], bool]:
    """Whether the class of a value, or one that it is made of, has one of the names: what annotations name without importing it."""
    return lambda value: any(base.__name__ in names for base in type(value).__mro__)


_CLASSES = frozenset(
    [
        "CoreGrid",
        "CoreRangeSet",
        "DataType",
        "Layout",
        "MemoryConfig",
        "MeshDevice",
        "SubDeviceId",
        "Tile",
        "Topology",
    ]
)


def _named(*names: str, words: tuple[str, ...] = ()) -> Kind:
    return Kind(frozenset({type(None)}), _is_a(*names), " | ".join(words or names))


def _tuned(value: Any) -> bool:
    """Made by a class of `tt_run.runtime.tuning`, where all program configurations are; not all share a base, but all that are bound say so."""
    kind = type(value)
    return any(base.__module__.startswith(tuning.__name__) for base in kind.__mro__) or (
        isinstance(kind, Native) and kind.__name__.endswith("ProgramConfig")
    )


def _fused(value: Any) -> bool:
    """A function by its type, with or without parameters; no name of one."""
    by_type = _is_a("UnaryOpType")
    pair = isinstance(value, (tuple, list)) and len(value) == 2
    return by_type(value[0] if pair else value) or _is_a("UnaryWithParam")(value)


_COUNT = Kind(frozenset({type(None), int}), _whole, "int")
_BY_NAME = {
    "subdevice_id": _named("SubDeviceId"),
    "sub_device_id": _named("SubDeviceId"),
    "sub_core_grids": _named("CoreRangeSet"),
    "compute_kernel_config": _named(
        "DeviceComputeKernelConfig", "WormholeComputeKernelConfig", words=("DeviceComputeKernelConfig",)
    ),
    "core_grid": _named("CoreGrid"),
    "math_fidelity": _named("MathFidelity"),
    "output_tile": _named("Tile"),
    "variant": Kind(frozenset({type(None), int}), _is_a("GeluVariant"), "GeluVariant"),
    "reshape_tile_mode": Kind(
        frozenset({type(None), int}), _is_a("TileReshapeMapMode"), "TileReshapeMapMode"
    ),
    "fused_activation": Kind(frozenset({type(None)}), _fused, "UnaryWithParam"),
    "program_config": Kind(frozenset({type(None)}), _tuned, "program configuration"),
    **dict.fromkeys(
        ("num_links", "num_workers_per_link", "num_buffers_per_channel", "chunks_per_sync"), _COUNT
    ),
}
"""Kinds of parameters by their names; most only tune hardware, and would be ignored whatever they are."""
_BY_ENDING = {"memory_config": _named("MemoryConfig"), "topology": _named("Topology")}


def _by_name(name: str) -> Kind | None:
    ending = next((kind for ending, kind in _BY_ENDING.items() if name.endswith(ending)), None)
    return _BY_NAME.get(name) or ending
