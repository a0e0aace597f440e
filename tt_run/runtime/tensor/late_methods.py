"""Methods that a class takes from a module above it, found when one of them is first used.

Operations make tensors, so they import `Tensor`; programs write `a + b` and `t.to_numpy()`, so `Tensor` has operations for methods. The
class therefore names the module that holds them and imports nothing. The first use puts the functions themselves in place, so that
later calls cost what a method costs.
"""

from __future__ import annotations

import importlib
from typing import Any


class _Late:
    """Stands for a method until somebody wants one of its class."""

    __slots__ = ("_load", "_name")

    def __init__(self, name: str, load: Any) -> None:
        self._name, self._load = name, load

    def __get__(self, instance: object, owner: type) -> Any:
        return self._load()[self._name].__get__(instance, owner)

    def __set__(self, instance: object, value: Any) -> None:
        self._load()[self._name].__set__(instance, value)


def late_methods(home: str, names: str) -> type:
    """A base class with the methods `names` (separated by blanks) of the class `home` (`module.Class`), which is imported at their first use."""
    module, _, title = home.rpartition(".")

    def load() -> dict[str, Any]:
        found = vars(getattr(importlib.import_module(module), title))
        for name in names.split():
            setattr(base, name, found[name])
        return dict(found)

    base = type(title, (), {"__slots__": (), **{name: _Late(name, load) for name in names.split()}})
    return base
