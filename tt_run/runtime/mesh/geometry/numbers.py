"""Whole numbers with types of their own: ranks, sizes, tags, meshes, queues. `int()` takes them out."""

from __future__ import annotations

import operator


class TypedNumber:
    """A whole number, equal to another of its own type alone. Raises TypeError for what is no whole number."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = operator.index(value)

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.value == int(other)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value})"


class CountedNumber(TypedNumber):
    """One that prints as the plain number, and has an order."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return self.value < int(other) if type(other) is type(self) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self.value <= int(other) if type(other) is type(self) else NotImplemented

    def __str__(self) -> str:
        return str(self.value)


class LabelledNumber(TypedNumber):
    """One that equals the plain number as well."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (type(self), int)) and int(other) == self.value

    def __hash__(self) -> int:
        return hash(self.value)
