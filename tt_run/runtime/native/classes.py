"""Classes as programs of the reference know them: named after its native modules, listing its members and no others.

A class of ours that stands for a native one is decorated with `@native("ttnn._ttnn.tensor.DataType")`, and with `metaclass=Native` when
`dir` of the class itself is to list what the reference lists. `reference_members.txt` has the members; `scripts/reference_members`
made it. Source: reference library 0.81.1.
"""

from __future__ import annotations

import copyreg
import enum
import importlib
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn, TypeVar

Class = TypeVar("Class", bound=type)


_NAMED: dict[str, type] = {}


_NAME = vars(type)["__name__"]


class Native(type):
    """The type of classes that list the reference's public members, whatever else the library keeps on them.

    As in the reference, Python's own refusals name such a class by its module too: it is called so, and `__name__` is the last part. No
    `__getattr__` on the objects does that, since every look at an attribute of a class that has one takes ten times as long.
    """

    @property
    def __name__(cls) -> str:
        found: str = _NAME.__get__(cls)
        return found.rpartition(".")[2]

    @__name__.setter
    def __name__(cls, name: str) -> None:
        _NAME.__set__(cls, name)

    def __dir__(cls) -> list[str]:
        return _listed(cls, type.__dir__(cls))

    def __getattr__(cls, name: str) -> property:
        """A member that our objects keep for themselves, as the property that it is of the reference's class: `ttnn.CoreCoord.x`."""
        if name[0] != "_" and name in members().get(f"{cls.__module__}.{cls.__qualname__}", ()):
            return property(attrgetter(name))
        bound = vars(cls).get("_bound_name", cls.__name__)
        raise AttributeError(f"type object '{bound}' has no attribute '{name}'", name=name, obj=cls)


Native.__module__, Native.__qualname__ = "nanobind", "nb_type"
_NAME.__set__(Native, "nb_type")


def native(name: str) -> Callable[[Class], Class]:
    """Class decorator: the class goes by its native name, in its repr and in Python's refusals of attributes."""

    def dress(cls: Class) -> Class:
        cls._home = (cls.__module__, cls.__qualname__)  # type: ignore[attr-defined]
        owner, _, last = name.rpartition(".")
        outer = owner.rpartition(".")[2]
        cls.__module__, cls.__qualname__ = (
            (owner.rpartition(".")[0], f"{outer}.{last}") if outer[0].isupper() else (owner, last)
        )
        cls.__name__ = name if isinstance(cls, Native) else last
        _NAMED.setdefault(name, cls)
        if issubclass(cls, enum.Enum):
            return cls
        cls._bound_name = name  # type: ignore[attr-defined]
        cls.__dir__ = _instance_members  # type: ignore[method-assign]
        params = getattr(cls, "__dataclass_params__", None)
        if params is not None and params.frozen:
            cls.__setattr__ = _read_only  # type: ignore[method-assign]
        if cls.__repr__ is object.__repr__:
            cls.__repr__ = _anonymous  # type: ignore[method-assign]
        return cls

    return dress


def native_class(name: str) -> type | None:
    """The class of ours that goes by a native name, as far as the modules that define them are loaded."""
    return _NAMED.get(name)


def home_of(cls: type) -> tuple[str, str]:
    """The module and the name by which a class is imported inside the library."""
    home: tuple[str, str] = cls.__dict__.get("_home", (cls.__module__, cls.__qualname__))
    return home


def found_at(module: str, name: str) -> Any:
    """The class at home under a name; what a pickle calls, since it may be read where no `ttnn` is."""
    return getattr(importlib.import_module(module), name)


def _by_home(cls: type) -> tuple[Callable[[str, str], Any], tuple[str, str]]:
    return found_at, home_of(cls)


copyreg.pickle(Native, _by_home)  # classes are pickled by name unless their type says otherwise


@lru_cache(maxsize=1)
def members() -> dict[str, list[str]]:
    """The public members of each native class of the reference, by the class's qualified name."""
    lines = Path(__file__).with_name("reference_members.txt").read_text(encoding="utf-8").split("\n")
    rows = (line.partition("\t") for line in lines if line and line[0] != "#")
    return {name: words.split() for name, _, words in rows}


def _listed(cls: type, found: Any) -> list[str]:
    public = members().get(f"{cls.__module__}.{cls.__qualname__}")
    return list(found) if public is None else [*public, *(name for name in found if name[0] == "_")]


def _instance_members(self: Any) -> list[str]:
    return _listed(type(self), object.__dir__(self))


def _read_only(self: Any, name: str, value: object) -> NoReturn:
    cls = type(self)
    if name in dir(self):
        raise AttributeError(f"property of '{cls.__name__}' object has no setter", name=name, obj=self)
    raise AttributeError(f"'{cls._bound_name}' object has no attribute '{name}'", name=name, obj=self)


def _anonymous(self: Any) -> str:
    return f"<{type(self)._bound_name} object at {id(self):#x}>"
