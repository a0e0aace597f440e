"""What a program asks to be called for, in a replay: attributes that are copied and deleted, errors that are handled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_keyvals = iter(range(1 << 20, 1 << 30))
_keys: dict[int, tuple[Any, Any]] = {}
"""Of each key of the program's what copies its values and what is told of their end."""


def new_key(copy: Any = None, delete: Any = None) -> int:
    """A key of the program's own."""
    keyval = next(_keyvals)
    _keys[keyval] = copy, delete
    return keyval


class Attributes:
    """What the program has put at one communicator, by its keys and in their order."""

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}

    def get(self, keyval: int) -> Any:
        """What is there; None for nothing."""
        return self._values.get(keyval)

    def put(self, owner: Any, keyval: int, value: Any) -> None:
        """Put something there; what was there is deleted."""
        if keyval in self._values:
            self._end(owner, keyval)
        self._values[keyval] = value

    def take(self, owner: Any, keyval: int) -> None:
        """Take it away."""
        if keyval in self._values:
            self._end(owner, keyval)
            del self._values[keyval]

    def clear(self, owner: Any) -> None:
        """Take all away, the last first: the communicator ends."""
        for keyval in reversed([*self._values]):
            self.take(owner, keyval)

    def copied(self, owner: Any) -> Attributes:
        """Those of a copy of the communicator: what the program wants copied."""
        found = Attributes()
        for keyval in sorted(self._values):
            value = self._values[keyval]
            copy, _ = _keys.get(keyval, (None, None))
            if callable(copy):
                value = copy(owner, keyval, value)
            if copy and value is not NotImplemented:
                found._values[keyval] = value
        return found

    def _end(self, owner: Any, keyval: int) -> None:
        _, delete = _keys.get(keyval, (None, None))
        if callable(delete):
            delete(owner, keyval, self._values[keyval])


class Errhandler:
    """`MPI.Errhandler`: a function of the program, or nothing."""

    def __init__(self, errhandler: Errhandler | None = None) -> None:
        self.function: Callable[[Any, int], object] | None = errhandler.function if errhandler else None

    @classmethod
    def of(cls, function: Callable[[Any, int], object]) -> Errhandler:
        """One that calls the function."""
        found = cls()
        found.function = function
        return found

    def Free(self) -> None:
        """Nothing to give back: who has set it keeps it."""
        self.function = None

    free = Free
    handle = property(lambda self: id(self.function))

    def __bool__(self) -> bool:
        return self.function is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Errhandler) and self.function is other.function

    __hash__ = None  # type: ignore[assignment]
