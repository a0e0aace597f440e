"""Operations of a replay: what reductions of the record were made with, computed here only where one process has both values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tt_run.runtime.record.mpi.calls import NotRecorded


def _place(keep: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def of(x: Any, y: Any) -> Any:
        (value, at), (other, there) = x, y
        if value == other:
            return value, min(at, there)
        return x if keep(value, other) else y

    return of


_OF_OBJECTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "MAX": lambda x, y: y if y > x else x,
    "MIN": lambda x, y: y if y < x else x,
    "SUM": lambda x, y: x + y,
    "PROD": lambda x, y: x * y,
    "LAND": lambda x, y: bool(x) & bool(y),
    "LOR": lambda x, y: bool(x) | bool(y),
    "LXOR": lambda x, y: bool(x) ^ bool(y),
    "BAND": lambda x, y: x & y,
    "BOR": lambda x, y: x | y,
    "BXOR": lambda x, y: x ^ y,
    "MAXLOC": _place(lambda x, y: x > y),
    "MINLOC": _place(lambda x, y: x < y),
    "REPLACE": lambda x, y: x,
    "NO_OP": lambda x, y: y,
}
_OF_ARRAYS: Mapping[str, Any] = {
    "MAX": np.maximum, "MIN": np.minimum, "SUM": np.add, "PROD": np.multiply, "LAND": np.logical_and, "LOR": np.logical_or,
    "LXOR": np.logical_xor, "BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor,
}  # fmt: skip


class Op:
    """An operation: the library's by its name, or a program's own."""

    def __init__(self, name: str = "", function: Any = None, commute: bool = True) -> None:
        self._name, self._function, self.is_commutative = name, function, commute
        self.is_predefined = function is None

    @classmethod
    def Create(cls, function: Any, commute: bool = False) -> Op:
        """A program's own."""
        return cls("", function, commute)

    def Is_commutative(self) -> bool:
        """Whether the order of values does not matter."""
        return self.is_commutative

    def Is_predefined(self) -> bool:
        """Whether it is the library's."""
        return self.is_predefined

    def Free(self) -> None:
        """Nothing to give back."""

    def Reduce_local(self, inbuf: Any, inoutbuf: Any) -> None:
        """Bring two arrays together, in the second."""
        if self._name not in _OF_ARRAYS or not isinstance(inoutbuf, np.ndarray):
            raise NotRecorded("MPI.Op.Reduce_local")
        inoutbuf[...] = _OF_ARRAYS[self._name](inbuf, inoutbuf)

    def __call__(self, x: Any, y: Any) -> Any:
        if self._function is not None:
            return self._function(x, y, None)
        if self._name not in _OF_OBJECTS:
            raise NotRecorded(f"MPI.{self._name or 'Op'}()")
        return _OF_OBJECTS[self._name](x, y)

    def __reduce__(self) -> Any:
        if not self.is_predefined:
            raise NotRecorded("MPI.Op.__reduce__")
        return self._name


PREDEFINED = {name: Op(name, commute=name not in ("REPLACE", "NO_OP")) for name in _OF_OBJECTS}
"""The library's, by their names."""
