"""Where a device sits in a mesh."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import NoReturn

from tt_run.runtime.errors import fatal, in_range, incompatible
from tt_run.runtime.mesh.geometry.shape import MeshShape, integers
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.native.unordered import Unsized

_CONSTRUCTORS = (
    "__init__(self, c0: int, c1: int) -> None",
    "__init__(self, c0: int, c1: int, c2: int) -> None",
    "__init__(self, coords: collections.abc.Sequence[int]) -> None",
)


def coordinate_hint(shape: Iterable[int]) -> str:
    """The hint for a coordinate outside of a mesh: the first and the last that it has."""
    ends = [extent - 1 for extent in shape]
    first = ", ".join("0" for _ in ends)
    return f"coordinates are ttnn.MeshCoordinate({first}) to ttnn.MeshCoordinate({', '.join(map(str, ends))})"


@native("ttnn._ttnn.multi_device.MeshCoordinate")
class MeshCoordinate(Unsized, metaclass=Native):
    """The place of a device: `MeshCoordinate(row, column)`, three numbers, or a sequence of them. Immutable and hashable, unordered.

    Raises TypeError for anything but non-negative integers (reference library 0.81.1).
    """

    __slots__ = ("_values",)
    _bound_name = "ttnn._ttnn.multi_device.MeshCoordinate"
    _values: tuple[int, ...]

    def __init__(self, *args: object, **kwargs: object) -> None:
        values = integers(args, kwargs, ("c0", "c1", "c2"), "coords")
        if values is None:
            raise incompatible("__init__", _CONSTRUCTORS, (self, *args), kwargs)
        object.__setattr__(self, "_values", values)

    def dims(self) -> int:
        """The number of dimensions."""
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        size = len(self._values)
        if not -size <= index < size:
            raise fatal(
                f"Index out of bounds: {index} not in [{-size}, {size})",
                "normalized_index >= 0 && normalized_index < size",
                hint=in_range("the index", size),
            )
        return self._values[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MeshCoordinate):
            raise incompatible(
                "__eq__",
                ("__eq__(self, arg: ttnn._ttnn.multi_device.MeshCoordinate, /) -> bool",),
                (self, other),
            )
        return self._values == other._values

    def __ne__(self, other: object) -> bool:
        if not isinstance(other, MeshCoordinate):
            raise incompatible(
                "__ne__",
                ("__ne__(self, arg: ttnn._ttnn.multi_device.MeshCoordinate, /) -> bool",),
                (self, other),
            )
        return self._values != other._values

    def __hash__(self) -> int:
        return hash(self._values)

    def __repr__(self) -> str:
        return f"MeshCoordinate([{', '.join(map(str, self._values))}])"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"MeshCoordinate is immutable: cannot set {name}")

    def __reduce__(self) -> tuple[object, ...]:
        return (MeshCoordinate, (self._values,))


def fits_as_submesh(inner: MeshShape, outer: MeshShape) -> bool:
    """True when both have one rank and no extent of `inner` exceeds its counterpart."""
    return inner.dims() == outer.dims() and all(a <= b for a, b in zip(inner, outer, strict=True))


def row_major(shape: MeshShape) -> list[MeshCoordinate]:
    """Every coordinate of a mesh, the last dimension fastest."""
    return list(_row_major(tuple(shape)))


@lru_cache(maxsize=64)
def _row_major(shape: tuple[int, ...]) -> tuple[MeshCoordinate, ...]:
    """Made once for each shape: thousands of coordinates for each tensor that is spread are dearer than the tensor."""
    return tuple(MeshCoordinate(values) for values in product(*(range(extent) for extent in shape)))
