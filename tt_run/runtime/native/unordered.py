"""Shapes and coordinates have neither order nor arithmetic; programs read the reference's class names in Python's refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NoReturn

from tt_run.runtime.errors import type_name

_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*"}


class Unordered:
    """Mixed into value classes: `<`, `+` and their kin raise TypeError."""

    __slots__ = ()
    _bound_name: ClassVar[str]


class Unsized(Unordered):
    """The same for classes that have no length either."""

    __slots__ = ()

    def __len__(self) -> NoReturn:
        raise TypeError(f"object of type '{self._bound_name}' has no len()")

    def __bool__(self) -> bool:
        # Without this the missing length would be asked for.
        return True


def _refusal(text: str) -> Callable[[Unordered, object], NoReturn]:
    def refuse(self: Unordered, other: object) -> NoReturn:
        raise TypeError(f"{text} '{self._bound_name}' and '{type_name(other)}'")

    return refuse


for _name, _symbol in _COMPARISONS.items():
    setattr(Unordered, f"__{_name}__", _refusal(f"'{_symbol}' not supported between instances of"))
for _name, _symbol in _ARITHMETIC.items():
    setattr(Unordered, f"__{_name}__", _refusal(f"unsupported operand type(s) for {_symbol}:"))
