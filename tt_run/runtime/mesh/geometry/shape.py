"""MeshShape: how many devices along each dimension of a mesh."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import NoReturn

from tt_run.runtime.errors import fatal, incompatible, throw
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.refusals import with_note
from tt_run.runtime.native.unordered import Unsized

_CONSTRUCTORS = (
    "__init__(self, s0: int, s1: int) -> None",
    "__init__(self, s0: int, s1: int, s2: int) -> None",
    "__init__(self, shape: collections.abc.Sequence[int]) -> None",
)


@native("ttnn._ttnn.multi_device.MeshShape")
class MeshShape(Unsized, metaclass=Native):
    """The extents of a mesh: `MeshShape(2, 4)`, `MeshShape(2, 2, 2)`, `MeshShape([8])`; rows before columns.

    The documents' keywords `y` (rows) and `x` (columns) are accepted next to `s0, s1`. Immutable and hashable; an extent may be 0.
    Raises RuntimeError for no dimensions, TypeError for anything but non-negative integers (reference library 0.81.1).
    """

    __slots__ = ("_extents",)
    _bound_name = "ttnn._ttnn.multi_device.MeshShape"
    _extents: tuple[int, ...]

    def __init__(self, *args: object, **kwargs: object) -> None:
        if len(args) == 1 and isinstance(args[0], MeshShape) and not kwargs:
            args = (tuple(args[0]),)
        extents = integers(args, kwargs, ("s0", "s1", "s2"), "shape", spellings={"y": "s0", "x": "s1"})
        if extents is None:
            error = incompatible("__init__", _CONSTRUCTORS, (self, *args), kwargs)
            raise with_note(error, "help: extents are whole numbers from 0: ttnn.MeshShape(2, 4)")
        if not extents:
            raise fatal(
                "MeshShape cannot have 0 dimension.", "dims() > 0", hint="ttnn.MeshShape(rows, columns)"
            )
        object.__setattr__(self, "_extents", extents)

    def dims(self) -> int:
        """The number of dimensions."""
        return len(self._extents)

    def mesh_size(self) -> int:
        """The number of devices."""
        return prod(self._extents)

    def __getitem__(self, index: int) -> int:
        if not hasattr(index, "__index__"):
            raise incompatible("__getitem__", ("__getitem__(self, index: int) -> int",), (self, index))
        # The reference's indices reach below -dims: it keeps room for a padded 4-D form.
        low, high = -max(4, len(self._extents)), len(self._extents)
        if not low <= index < high:
            extents = "x".join(map(str, self._extents))
            raise throw(
                f"ShapeBase[] index out of range. {index} not in [{low}, {high})",
                hint=f"a {extents} mesh has the axes {', '.join(map(str, range(high)))}",
            )
        return 1 if index < -high else self._extents[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._extents)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MeshShape):
            raise incompatible(
                "__eq__", ("__eq__(self, arg: ttnn._ttnn.multi_device.MeshShape, /) -> bool",), (self, other)
            )
        return self._extents == other._extents

    def __ne__(self, other: object) -> bool:
        if not isinstance(other, MeshShape):
            raise incompatible(
                "__ne__", ("__ne__(self, arg: ttnn._ttnn.multi_device.MeshShape, /) -> bool",), (self, other)
            )
        return self._extents != other._extents

    def __hash__(self) -> int:
        return hash(self._extents)

    def __repr__(self) -> str:
        return f"MeshShape([{', '.join(map(str, self._extents))}])"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"MeshShape is immutable: cannot set {name}")

    def __reduce__(self) -> tuple[object, ...]:
        return (MeshShape, (self._extents,))


def integers(
    args: tuple[object, ...],
    kwargs: dict[str, object],
    names: tuple[str, ...],
    sequence: str,
    spellings: dict[str, str] | None = None,
) -> tuple[int, ...] | None:
    """The non-negative integers of a call in one of the forms `(a, b)`, `(a, b, c)`, `(sequence)`; None when none of them fits."""
    given = {(spellings or {}).get(name, name): value for name, value in kwargs.items()}
    if len(given) != len(kwargs):
        return None
    values: Iterable[object]
    if (len(args), len(given)) in ((1, 0), (0, 1)) and (args or sequence in given):
        only = args[0] if args else given[sequence]
        if not hasattr(only, "__getitem__") or isinstance(only, (str, bytes, Mapping, MeshShape)):
            return None
        values = only  # type: ignore[assignment]
    else:
        count = len(args) + len(given)
        if count not in (2, 3) or set(given) != set(names[len(args) : count]):
            return None
        values = (*args, *(given[name] for name in names[len(args) : count]))
    try:
        found = tuple(operator.index(value) for value in values)  # type: ignore[arg-type]
    except TypeError:
        return None
    return found if all(0 <= value < 2**32 for value in found) else None
