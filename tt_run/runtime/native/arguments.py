"""Wrong arguments of public functions, in the reference's words, with the names and types that exist.

Arguments are looked at only after a call has failed, so a call that is right pays nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import numbers
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tt_run.runtime.errors import type_name
from tt_run.runtime.native.refusals import native_functions, refusal, with_note

Function = TypeVar("Function", bound=Callable[..., Any])

FAULTS = (TypeError, AttributeError, ValueError)
"""What a call with an argument of the wrong type may run into."""

# Annotations by the names of the classes that they stand for.
_CLASSES = {
    **{
        name: (name,)
        for name in (
            "BufferType", "CoreCoord", "CoreRangeSet", "DataType", "DumpTensorMode", "FabricConfig", "Layout", "MemoryConfig", "MeshComposerConfig",
            "MeshCoordinate", "MeshCoreCoord", "MeshDevice", "MeshMapperConfig", "MeshShape", "MeshSocket", "SocketConfig", "SocketConnection", "Tensor", "Tile",
        )
    },
    "Site": ("MeshDevice", "HostSite"),
    "TensorToMesh": ("CppTensorToMesh",),
    "Mapper": ("CppTensorToMesh", "ReplicateTensorToMeshWrapper"),
    "MeshToTensor": ("CppMeshToTensor",),
    "str": ("str",),
    "None": ("NoneType",),
}  # fmt: skip


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def public(function: Function) -> Function:
    """The function, raising TypeError with its signature and the nearest names when arguments do not fit it."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except FAULTS as error:
            fault = mismatch(function, args, kwargs, error)
            if fault is None:
                raise
            raise _refused(function, args, kwargs, fault, error) from None

    return checked  # type: ignore[return-value]


def also_named(**others: str) -> Callable[[Function], Function]:
    """Take an argument by other names too: those of the native overloads that one function stands for, as `{other: own}`."""

    def named(function: Function) -> Function:
        @functools.wraps(function)
        def renaming(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                kwargs = {others.get(word, word): value for word, value in kwargs.items()}
            return function(*args, **kwargs)

        return renaming  # type: ignore[return-value]

    return named


def mismatch(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], error: Exception
) -> str | None:
    """What is wrong with the arguments of a call that ended in an error; None when they fit and it came from further inside.

    A TypeError of a call that binds says already which type it wants, and stays where no native signatures are to be listed.
    """
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as unbound:
        return str(unbound)
    if isinstance(error, TypeError) and function.__name__ not in native_functions():
        return None
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        wanted = parameter.annotation
        if isinstance(wanted, str) and not _fits(value, wanted):
            wanted = re.sub(r"\bSite\b", "MeshDevice", wanted)  # the class that programs know
            return f"argument {name!r} must be {wanted}, got {type_name(value)}{_shape_to_write(wanted, value, args)}"
    return None


def _shape_to_write(wanted: str, value: object, args: Sequence[Any]) -> str:
    """A line of help where the numbers of a mesh's shape stand alone."""
    sides = value if isinstance(value, (tuple, list)) else [each for each in args if isinstance(each, int)]
    if not wanted.startswith("MeshShape") or not sides:
        return ""
    return f"\nhelp: write ttnn.MeshShape({', '.join(map(str, sides))})"


def check_fields(value: Any) -> None:
    """Raises TypeError for a field of a dataclass that is not what its annotation says: call it in `__post_init__`."""
    for field in dataclasses.fields(value):
        given = getattr(value, field.name)
        if isinstance(field.type, str) and not _fits(given, field.type):
            usual = field.default
            plain = isinstance(usual, (bool, int, float, str)) or usual is None
            hint = f"; help: {field.name}={usual!r}" if plain else ""
            raise TypeError(
                f"{type(value).__name__}(): {field.name!r} must be {field.type}, got {type_name(given)}{hint}"
            )


def called(function: Callable[..., Any]) -> str:
    """What a program writes to call it: `Layer` of `Layer.__init__`."""
    return function.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__")


def parameter_words(parameters: Iterable[inspect.Parameter]) -> str:
    """Parameters as a call names them: `a, b, c=1`."""
    return ", ".join(
        each.name if each.default is each.empty else f"{each.name}={each.default!r}" for each in parameters
    )


def nearest(function: Callable[..., Any], kwargs: Mapping[str, Any], args: Sequence[Any] = ()) -> str:
    """A line of help for every keyword that the function does not have, and for arguments that have to be named."""
    parameters = inspect.signature(function).parameters
    known = list(parameters)
    near = [(word, _near(word, known)) for word in kwargs if word not in known]
    by_place = [name for name, each in parameters.items() if each.kind in _BY_PLACE]
    by_name = [name for name, each in parameters.items() if each.kind is inspect.Parameter.KEYWORD_ONLY]
    takes_all = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters.values())
    if by_place and by_name and not takes_all and len(args) > len(by_place):
        listed = ", ".join(f"{name}=…" for name in by_name)
        return f"\nhelp: after {by_place[-1]!r} arguments are named: {listed}"
    return "".join(f"\nhelp: {word!r}: did you mean {match[0]!r}?" for word, match in near if match)


_ELSEWHERE = {
    "axis": "dim",
    "dims": "dim",
    "keepdims": "keepdim",
    "perm": "dims",
    "axes": "dims",
    "out": "output_tensor",
}
"""Parameters as NumPy, JAX and PyTorch call them."""


def _near(word: str, known: Sequence[str]) -> list[str]:
    """The name that was probably meant: the nearest, or the only one that has the word as a part (`axis` of `cluster_axis`)."""
    having = [name for name in known if word in name.split("_")]
    from difflib import get_close_matches

    meant = _ELSEWHERE.get(word, "")
    if meant in known:
        return [meant]
    return get_close_matches(word, known, 1) or (having if len(having) == 1 else [])


def _fits(value: Any, annotation: str) -> bool:
    """Whether a value is of an annotated type, as far as we know the annotation."""
    return any(_is_a(value, kind.strip()) for kind in annotation.split(" | "))


def _is_a(value: Any, kind: str) -> bool:
    if kind in _CLASSES:
        return any(base.__name__ in _CLASSES[kind] for base in type(value).__mro__)
    if kind == "int":
        return _is_whole(value)
    if kind == "float":
        return isinstance(value, numbers.Real) or _is_whole(value)
    if kind == "Sequence[int]":
        return not isinstance(value, str) and hasattr(value, "__iter__") and all(map(_is_whole, value))
    if kind == "Sequence[Tensor]":
        return (
            hasattr(value, "__iter__")
            and not _is_a(value, "Tensor")
            and all(_is_a(v, "Tensor") for v in value)
        )
    return True


def _is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _refused(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    fault: str,
    error: Exception,
) -> TypeError:
    """The reference's text, which for a native function lists its signatures; below it what was given and what we know better."""
    name = function.__name__
    given = [type(value).__name__ for value in args] + [f"{k}: {type(v).__name__}" for k, v in kwargs.items()]
    signature = str(inspect.signature(function)).replace("'", "")
    help = f"{fault}{nearest(function, kwargs, args)}"
    shown = (
        f"Called with:\n    {name}({', '.join(given)})\nAvailable signatures:\n    {name}{signature}\n{help}"
    )
    key = native_functions().get(name)
    native = refusal(key, name, args, kwargs, help) if key is not None else None
    if native is not None:
        return native
    if isinstance(error, TypeError) and str(error).startswith(f"{function.__qualname__}() "):
        return with_note(TypeError(str(error)), shown)
    return TypeError(f"ttnn.{name}(): incompatible function arguments.\n{shown}")
