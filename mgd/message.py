"""What every message of a descriptor has in common: immutable, compared by its fields, without its place in the file.

The message classes are generated with explicit slots instead of being dataclasses: eighteen dataclasses take 25 ms to import,
a fifth of what `mgd check` of one file may take.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

M = TypeVar("M", bound="Message")


class Message:
    """One message as written. `at` is its offset in the text, -1 for one that was not read; it takes no part in comparisons."""

    __slots__ = ("at",)
    __match_args__: tuple[str, ...] = ()

    at: int

    def values(self) -> tuple[Any, ...]:
        """The fields in the order of the schema, without `at`."""
        return tuple([getattr(self, name) for name in self.__match_args__])

    def replace(self: M, **changes: Any) -> M:
        """The same message with some fields changed."""
        return type(self)(
            **{**dict(zip(self.__match_args__, self.values(), strict=True)), "at": self.at, **changes}
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.values() == other.values()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.values()))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={value!r}" for name, value in zip(self.__match_args__, self.values(), strict=True)
        )
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.values(), self.at)
