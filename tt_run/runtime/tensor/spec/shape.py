"""The shape of a shard."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import overload

from tt_run.runtime.errors import fatal, in_range, throw, type_name
from tt_run.runtime.native.classes import Native
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.native.unordered import Unordered

_LONGEST = 1 << 32


@native_class("ttnn._ttnn.types.Shape", "__getitem__")
class Shape(Unordered, metaclass=Native):
    """Lengths of a shard's dimensions; equal to any list or tuple with the same numbers."""

    __slots__ = ("_dims",)

    def __init__(self, shape: Sequence[int] | Shape) -> None:
        if not hasattr(shape, "__getitem__") or isinstance(shape, (str, bytes, Mapping)):
            raise TypeError(f"a Shape is made of a sequence, not of {type_name(shape)}; help: (1, 1, 32, 32)")
        lengths = tuple(map(operator.index, shape))
        if lengths and not 0 <= min(lengths) <= max(lengths) < _LONGEST:
            raise TypeError(f"a Shape holds lengths from 0 to {_LONGEST - 1}, got {list(lengths)}")
        self._dims = lengths

    @classmethod
    def _implicit(cls, given: object) -> Shape | None:
        try:
            numbers = isinstance(given, (list, tuple)) and all(operator.index(n) >= 0 for n in given)
        except TypeError:
            return None
        return cls(given) if numbers else None  # type: ignore[arg-type]

    @property
    def dims(self) -> tuple[int, ...]:
        """The lengths."""
        return self._dims

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self._dims)

    def to_rank(self, rank: int) -> Shape:
        """The same volume in `rank` dimensions: ones are added or dropped on the left."""
        extra = rank - len(self._dims)
        if extra >= 0:
            return Shape((1,) * extra + self._dims)
        if any(length != 1 for length in self._dims[:-extra]):
            raise fatal(
                "Can't convert shape rank",
                hint=f"{self} has lengths other than 1 before its last {rank} dimensions",
            )
        return Shape(self._dims[-extra:])

    def volume(self) -> int:
        """Number of elements."""
        return math.prod(self._dims)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Shape: ...
    def __getitem__(self, index: int | slice) -> int | Shape:
        if isinstance(index, slice):
            return Shape(self._dims[index])
        rank = len(self._dims)
        if not -max(rank, 4) <= index < rank:
            raise throw(
                f"ShapeBase[] index out of range. {index} not in [-{max(rank, 4)}, {rank})",
                hint=in_range("the index", rank),
            )
        # Shapes of rank below 4 count as padded with ones on the left; negative indices may reach into the padding.
        return self._dims[index] if index >= -rank else 1

    def __iter__(self) -> Iterator[int]:
        return iter(self._dims)

    def __len__(self) -> int:
        return len(self._dims)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Shape):
            return self._dims == other._dims
        if isinstance(other, (list, tuple)):
            return self._dims == tuple(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"Shape({list(self._dims)})"
