"""Classes in the place of the library's: what the library itself makes is an instance of them, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def stand_in(library: Any, names: Mapping[str, Any]) -> type:
    """A class as the library's, but for these names. Classes that a program derives from it are as any others."""

    class Kind(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, library) if cls is made else super().__instancecheck__(instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, library) if cls is made else super().__subclasscheck__(subclass)

    made = Kind(library.__name__, (library,), {**names, "__module__": library.__module__})
    return made
