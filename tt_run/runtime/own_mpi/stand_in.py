"""Classes in the place of the library's: what the library itself makes is an instance of them, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STANDS_FOR = "_tt_run_stands_for"
"""Where a class says, itself, for which of the library's it stands."""


class StandIn(type):
    """The kind of such classes. Those that a program derives from them are as any others."""

    def __instancecheck__(cls, instance: Any) -> bool:
        library = cls.__dict__.get(STANDS_FOR)
        return super().__instancecheck__(instance) if library is None else isinstance(instance, library)

    def __subclasscheck__(cls, subclass: type) -> bool:
        library = cls.__dict__.get(STANDS_FOR)
        return super().__subclasscheck__(subclass) if library is None else issubclass(subclass, library)


def stand_in(library: Any, names: Mapping[str, Any]) -> type:
    """A class as the library's, but for these names."""
    own = {**names, "__module__": library.__module__, STANDS_FOR: library}
    return StandIn(library.__name__, (library,), own)
