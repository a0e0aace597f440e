"""Of what kinds the arguments of an operation are, from the annotations of its function: as strict as the reference's own binding.

True and False alone are bool; int takes what has an index, float also what has a value, and neither takes text; a sequence is no text, set
or iterator; None is taken where the annotation names it. Numbers of NumPy and PyTorch, and True, come to an operation as Python's own. What an annotation does not tell (`object`, `Any`, names of unions) is not looked
at here, unless the parameter's name tells it. Source: reference library 0.81.1.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tt_run.runtime import tuning
from tt_run.runtime.enums import DataType, NamedEnum
from tt_run.runtime.errors import ArgumentMismatch, type_name
from tt_run.runtime.native.classes import Native
from tt_run.runtime.ops.declaration.argument_ranges import another_number, lengths, unsigned
from tt_run.runtime.tensor.tensor import Tensor


class Kind(NamedTuple):
    """What a parameter takes: exact types that do, a test of the others, and how to say it."""

    exact: frozenset[type]
    fits: Callable[[Any], bool]
    text: str
    plain: Callable[[Any], Any] | None = None
    """Makes Python's own numbers of others."""
    besides: str = ""
    """What whole numbers must be besides that."""

    def takes(self, value: Any) -> bool:
        """Whether a value is one of them."""
        return type(value) in self.exact or self.fits(value)

    def taken(self, name: str, value: Any) -> Any:
        """The value of parameter `name` as the operation gets it. Raises ArgumentMismatch for one that is none of these."""
        if not self.fits(value):
            raise ArgumentMismatch(self.fault(name, value))
        return value if self.plain is None else self.plain(value)

    def fault(self, name: str, value: Any) -> str:
        """What to say of a value that is none of them."""
        if self.besides and (_whole(value) or _wholes(value)):
            return f"{name} must be {self.besides}, got {value!r}{another_number(name)}"
        if _sequence(value) and "Sequence[int]" in self.text:
            return f"{name}: expected a sequence of ints, got {value!r}"
        return f"{name} must be of type {self.text}, not {type_name(value)}{_meant(self.text, value)}"


_TYPES_ELSEWHERE = {
    "bf16": "bfloat16",
    "fp32": "float32",
    "float": "float32",
    "f32": "float32",
    "bf8": "bfloat8_b",
    "bfp8": "bfloat8_b",
    "bf4": "bfloat4_b",
    "bfp4": "bfloat4_b",
    "int": "int32",
}
"""What others call the element types."""
_LAYOUTS_ELSEWHERE = {"tile": "TILE", "tiled": "TILE", "row_major": "ROW_MAJOR", "rm": "ROW_MAJOR"}


def _meant(text: str, value: Any) -> str:
    """What to write for a value that means the right thing in words of another library: an element type, a device by its number."""
    said = value if isinstance(value, str) else getattr(value, "__name__", str(value))
    word = said.rpartition(".")[2].lower()
    if "DataType" in text:
        word = _TYPES_ELSEWHERE.get(word, word)
        known = word.upper() in DataType.__members__
        return f"\nhelp: write ttnn.{word if known else 'bfloat16, or another name of ttnn.DataType'}"
    if "Layout" in text:
        name = _LAYOUTS_ELSEWHERE.get(word.removesuffix("_layout"))
        return f"\nhelp: write ttnn.{name}_LAYOUT" if name else ""
    if "MemoryConfig" in text and isinstance(value, (str, NamedEnum)):
        return "\nhelp: write ttnn.L1_MEMORY_CONFIG or ttnn.DRAM_MEMORY_CONFIG"
    if "MeshDevice" in text and isinstance(value, (int, str)) and not isinstance(value, bool):
        return "\nhelp: a device comes from ttnn.open_mesh_device(ttnn.MeshShape(2, 4)), or ttnn.open_device(device_id=0)"
    if text == "int" and isinstance(value, Tensor):
        return "\nhelp: write several tensors as a list: [a, b]"
    return ""


class Kinds(NamedTuple):
    """The kinds of an operation's parameters: by name, and in their order.

    None: anything, as for tensors, of which an operation knows more to say when it is given something else.
    """

    words: Mapping[str, Kind]
    places: tuple[Kind | None, ...]
    names: tuple[str, ...]

    def taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as an operation gets them: numbers of NumPy and PyTorch as Python's own.

        Raises ArgumentMismatch for one of a kind that no signature takes: most would be ignored, or fail far inside.
        """
        for place, (name, kind, value) in enumerate(zip(self.names, self.places, args, strict=False)):
            if kind is not None and type(value) not in kind.exact:
                plain = kind.taken(name, value)
                if plain is not value:
                    args = (*args[:place], plain, *args[place + 1 :])
        changed: dict[str, Any] = {}
        for word, value in kwargs.items():
            kind = self.words.get(word)
            if kind is not None and type(value) not in kind.exact:
                plain = kind.taken(word, value)
                if plain is not value:
                    changed[word] = plain
        return args, {**kwargs, **changed} if changed else kwargs

    def refusal(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ArgumentMismatch | None:
        """What names the first argument of another kind than its parameter; None where all are such."""
        try:
            self.taken(args, kwargs)
        except ArgumentMismatch as mismatched:
            return mismatched
        return None


def kinds_of(function: Callable[..., Any], operation: str = "") -> Kinds:
    """The kinds that a function's annotations tell, or else the names of its parameters. `operation`: its name below `ttnn`."""
    parameters = inspect.signature(function).parameters.values()
    # Of a function around another one, where the annotations were written.
    space = getattr(function, "written_in", None) or getattr(function, "__globals__", {})
    found = {
        p.name: _narrowed(_asked(p, _kind(p.annotation, space)) or kind_by_name(p.name), operation, p.name)
        for p in parameters
    }
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        positional = []
    return Kinds(
        {name: kind for name, kind in found.items() if kind is not None},
        tuple(_at_place(found[p.name]) for p in positional),
        tuple(p.name for p in positional),
    )


def _asked(parameter: inspect.Parameter, kind: Kind | None) -> Kind | None:
    """The kind without None and sequences where a tensor or a number must be given."""
    if kind is None or kind.exact != _OPERANDS or parameter.default is not parameter.empty:
        return kind
    return kind._replace(
        exact=_OPERANDS - {type(None)},
        fits=lambda value: value is not None and not isinstance(value, (list, tuple)) and kind.fits(value),
    )


def _narrowed(kind: Kind | None, operation: str, parameter: str) -> Kind | None:
    """The kind without negative numbers, or without sequences of another length, where an operation has such a parameter."""
    least, counts = unsigned(operation, parameter), lengths(operation, parameter)
    if kind is None or "int" not in kind.text or "Tensor" in kind.text or not (least or counts):
        return kind
    several = "Sequence" in kind.text

    def inside(value: Any) -> bool:
        if _whole(value):
            return not least or int(value) >= 0
        if several and _wholes(value):
            short = not counts or len(value) in counts
            return short and (not least or all(int(each) >= 0 for each in value))
        return True

    count = f"{' or '.join(map(str, counts))} " if counts else ""
    said = f"{count or ('' if several else 'a ')}whole number{'s' * several}{' from 0' * least}"
    return Kind(
        kind.exact - {int},
        lambda value: kind.takes(value) and inside(value),
        kind.text,
        kind.plain,
        said,
    )


def _at_place(kind: Kind | None) -> Kind | None:
    return None if kind is None or ("Tensor" in kind.text and kind.plain is None) else kind


def _kind(annotation: Any, space: Mapping[str, Any]) -> Kind | None:
    """The kind that an annotation names, None when a part of it is unknown."""
    if not isinstance(annotation, str):
        return None
    words = [word.strip() for word in _parts(annotation)]
    known_as = next((UNIONS[word] for word in words if word in UNIONS), None)
    if known_as is not None:
        return known_as
    parts = [_part(word, space) for word in words]
    if not all(parts):
        return None
    known = [part for part in parts if part is not None]
    exact: frozenset[type] = frozenset().union(*(part.exact for part in known))
    tests = tuple(part.fits for part in known)
    if Tensor in exact and float in exact:
        # An operation may take another kind of tensor, and says itself how an array becomes one.
        tests += (lambda value: not isinstance(value, (str, bytes)),)
    text = " | ".join(word for word in words if word != "None")
    return Kind(exact, lambda value: any(test(value) for test in tests), text, _first(known))


def _first(parts: Sequence[Kind]) -> Callable[[Any], Any] | None:
    """What makes plain numbers for a union: the first of its members that takes a number; beside tensors whole numbers stay whole."""
    able = [part for part in parts if part.plain is not None]
    if any(Tensor in part.exact for part in parts) and any(float in part.exact for part in parts):
        return _plain_number
    if len(able) < 2:
        return able[0].plain if able else None

    def plain(value: Any) -> Any:
        for part in able:
            if part.fits(value):
                return part.plain(value)  # type: ignore[misc]
        return value

    return plain


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


_ONLY_INT = frozenset({int})


def _never(value: Any) -> bool:
    return False


def _whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return type(value).__name__ in ("bool", "bool_") and hasattr(value, "item")  # NumPy's truth
    return True


def _real(value: Any) -> bool:
    if _whole(value):
        return True
    if not hasattr(value, "__float__") or isinstance(value, (str, bytes, Tensor)):
        return False
    try:
        # More than one element has no value as a number.
        return not hasattr(value, "item") or value.item() is not None
    except (ValueError, RuntimeError):
        return False


def _sequence(value: Any) -> bool:
    return (
        hasattr(value, "__len__")
        and hasattr(value, "__getitem__")
        and not isinstance(value, (str, bytes, Mapping))
        # PyTorch's are no sequences to the reference, as the library's own are none.
        and not _TENSOR(value)
    )


def _wholes(value: Any) -> bool:
    return _sequence(value) and (_ints(value) or all(map(_whole, value)))


def _ints(value: Any) -> bool:
    return _ONLY_INT.issuperset(map(type, value))


def _plain_whole(value: Any) -> Any:
    return int(value) if _whole(value) else value


def _plain_real(value: Any) -> Any:
    if not _real(value):
        return value
    # An array of one element has a value in every release of NumPy by this way alone.
    return float(value.item() if hasattr(value, "item") else value)


def _plain_number(value: Any) -> Any:
    return _plain_whole(value) if _whole(value) else _plain_real(value)


def _plain_wholes(value: Any) -> Any:
    if _ints(value) or not _wholes(value):
        return value
    return [int(each) for each in value]


_OPERANDS = frozenset({Tensor, int, float, type(None)})
UNIONS = {
    # Of anything else than a tensor or a number an operation says more itself.
    "Operand": Kind(
        _OPERANDS, lambda value: not isinstance(value, (str, bytes)), "Tensor | int | float", _plain_number
    ),
    # A number that is no int of Python is a float there.
    "Limit": Kind(_OPERANDS, _real, "Tensor | float", _plain_real),
}
"""Names of unions in annotations."""

_PLAIN = {
    "None": Kind(frozenset({type(None)}), _never, "None"),
    "bool": Kind(frozenset({bool}), _never, "bool"),
    "int": Kind(frozenset({int}), _whole, "int", _plain_whole),
    "float": Kind(frozenset({float, int}), _real, "float", _plain_real),
    "str": Kind(frozenset({str}), _never, "str"),
    "Tensor": Kind(frozenset({Tensor}), lambda value: isinstance(value, Tensor), "Tensor"),
}


def _part(word: str, space: Mapping[str, Any]) -> Kind | None:
    if word in _PLAIN:
        return _PLAIN[word]
    if word == "Sequence[int]":
        return Kind(frozenset(), _wholes, word, _plain_wholes)
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


_TENSOR = _is_a("Tensor")
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


_COUNT = Kind(frozenset({type(None), int}), _whole, "int", _plain_whole)
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
_SEMAPHORE = _is_a("GlobalSemaphore", "GlobalSemaphoreArg", "global_semaphore")


def _semaphores(value: Any) -> bool:
    """One or several, as each device has a collective signal with."""
    return _SEMAPHORE(value) or (_sequence(value) and all(map(_SEMAPHORE, value)))


_SIGNALS = Kind(frozenset({type(None)}), _semaphores, "GlobalSemaphore | Sequence[GlobalSemaphore]")
_BY_ENDING = {
    "memory_config": _named("MemoryConfig"),
    "topology": _named("Topology"),
    "semaphore": _SIGNALS,
    "semaphores": _SIGNALS,
}


def kind_by_name(name: str) -> Kind | None:
    """What a parameter takes that is called so in every operation; None where its name does not tell."""
    ending = next((kind for ending, kind in _BY_ENDING.items() if name.endswith(ending)), None)
    return _BY_NAME.get(name) or ending
