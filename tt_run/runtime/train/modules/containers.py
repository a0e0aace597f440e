"""`ModuleList` and `ModuleDict`: modules that hold modules by number and by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar, Union, overload

from tt_run.runtime.errors import type_name
from tt_run.runtime.train.modules.base import AbstractModuleBase, ModuleBase

Given = TypeVar("Given")
Named = Union[Mapping[str, ModuleBase], "ModuleDict", Iterable[tuple[str, ModuleBase]]]
"""Modules by name: a mapping, another ModuleDict, or pairs."""


class ModuleList(AbstractModuleBase):
    """A list of modules; children are named "0", "1", … in order."""

    _forward_help = "for module in modules: x = module(x)"

    def __init__(self, modules: Iterable[ModuleBase] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    @overload
    def __getitem__(self, index: int) -> ModuleBase: ...
    @overload
    def __getitem__(self, index: slice) -> ModuleList: ...
    def __getitem__(self, index: int | slice) -> ModuleBase | ModuleList:
        held = list(self._modules.values())
        return ModuleList(held[index]) if isinstance(index, slice) else held[self._place(index)]

    def __setitem__(self, index: int, module: ModuleBase) -> None:
        self._modules[str(self._place(index))] = _module(module)

    def __delitem__(self, index: int) -> None:
        self.pop(index)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[ModuleBase]:
        return iter(list(self._modules.values()))

    def __repr__(self) -> str:
        return _listed(self)

    def __iadd__(self, modules: Iterable[ModuleBase]) -> ModuleList:
        self.extend(modules)
        return self

    def append(self, module: ModuleBase) -> ModuleList:
        """Add a module at the end."""
        self._modules[str(len(self))] = _module(module)
        return self

    def extend(self, modules: Iterable[ModuleBase]) -> ModuleList:
        """Add several modules at the end."""
        for module in _several(self, modules, "[LinearLayer(32, 32)]"):
            self.append(module)
        return self

    def insert(self, index: int, module: ModuleBase) -> None:
        """Put a module in front of a place; those behind move up. Places below 0 count from behind the last: -1 is the end."""
        held = list(self._modules.values())
        held.insert(index if index >= 0 else max(0, len(held) + index + 1), _module(module))
        self._renumber(held)

    def pop(self, index: int = -1) -> ModuleBase:
        """Take a module out; those behind move down."""
        held = list(self._modules.values())
        taken = held.pop(self._place(index))
        self._renumber(held)
        return taken

    def _place(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(
                f"index {index} is out of range of {len(self)} modules; help: append(module) adds one"
            )
        return index % len(self)

    def _renumber(self, modules: Iterable[ModuleBase]) -> None:
        self._modules.clear()
        for number, module in enumerate(modules):
            self._modules[str(number)] = module


class ModuleDict(AbstractModuleBase):
    """Modules by name, in the order they were added."""

    _forward_help = "call one of its modules: modules[name](x)"

    def __init__(self, modules: Named | None = None) -> None:
        super().__init__()
        self.update({} if modules is None else modules)

    def __getitem__(self, name: str) -> ModuleBase:
        if name not in self._modules:
            raise KeyError(
                f"there is no module {name!r}; help: one of {', '.join(map(repr, self._modules)) or 'none: add it first'}"
            )
        return self._modules[name]

    def __setitem__(self, name: str, module: ModuleBase) -> None:
        self._modules[name] = _module(module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._modules))

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def keys(self) -> list[str]:
        """Names in order."""
        return list(self._modules)

    def values(self) -> list[ModuleBase]:
        """Modules in order."""
        return list(self._modules.values())

    def items(self) -> list[tuple[str, ModuleBase]]:
        """Names and modules in order."""
        return list(self._modules.items())

    def get(self, name: str, default: ModuleBase | None = None) -> ModuleBase | None:
        """The module of a name, else `default`."""
        return self._modules.get(name, default)

    def update(self, modules: Named) -> None:
        """Add or replace modules: a mapping of names, another ModuleDict, or pairs of name and module."""
        if not isinstance(modules, (Mapping, ModuleDict)):
            pairs = list(_several(self, modules, "{'up': LinearLayer(32, 32)}"))
            if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
                raise TypeError(
                    f"ModuleDict: pairs of name and module are wanted, not {pairs!r:.60}; help: ModuleDict({{'up': LinearLayer(32, 32)}})"
                )
            modules = dict(pairs)
        for name, module in modules.items():
            self[name] = module

    def pop(self, name: str, default: ModuleBase | None = None) -> ModuleBase | None:
        """Take a module out; `default` where there is none of that name."""
        return self._modules.pop(name, default)

    def clear(self) -> None:
        """Take all out."""
        self._modules.clear()

    def __repr__(self) -> str:
        return _listed(self)


def _listed(holder: ModuleBase) -> str:
    """A line for each module: its name here, and its own."""
    lines = (f"  ({name}): {module.get_name()}" for name, module in holder._modules.items())
    return "\n".join([f"{type(holder).__name__}(", *lines, ")"])


def _several(holder: ModuleBase, modules: Iterable[Given], example: str) -> Iterable[Given]:
    """Raise TypeError for what holds no modules."""
    if isinstance(modules, str) or not isinstance(modules, Iterable):
        name = type(holder).__name__
        raise TypeError(
            f"{name}: several modules are wanted, not {type_name(modules)}; help: {name}({example})"
        )
    return modules


def _module(value: ModuleBase) -> ModuleBase:
    """Raise TypeError for what is no module."""
    if not isinstance(value, ModuleBase):
        raise TypeError(
            f"ModuleList and ModuleDict hold modules of ttml, not {type_name(value)}; help: derive it from ttml.modules.AbstractModuleBase"
        )
    return value
