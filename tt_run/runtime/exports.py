"""How the shims publish names: a table of where each lives, resolved when it is first asked for.

A shim holds no logic: it says which module has what. Importing it stays cheap, and a program loads the parts it uses.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def publish(
    namespace: dict[str, Any], table: Mapping[str, str], submodules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a shim module whose globals are `namespace`.

    `table` maps a module to the names it provides, separated by blanks; `new=old` publishes `old` as `new`, and a dotted name is an
    attribute of an attribute. `submodules` are modules below the shim itself.
    """
    package = namespace["__name__"]
    homes: dict[str, tuple[str, str]] = {}
    for module, names in table.items():
        for entry in names.split():
            public, _, own = entry.partition("=")
            homes[public] = (module, own or public)
    # A star import sees names that were not asked for yet only where they are listed.
    namespace["__all__"] = sorted(name for name in (*homes, *submodules) if not name.startswith("_"))

    def resolve(name: str) -> Any:
        if name in homes:
            module, path = homes[name]
            value: Any = importlib.import_module(module)
            for step in path.split("."):
                value = getattr(value, step)
        elif name in submodules:
            value = importlib.import_module(f"{package}.{name}")
        else:
            raise AttributeError(_unknown(package, name, listing()))
        namespace[name] = value
        return value

    def listing() -> list[str]:
        return sorted({*homes, *submodules, *(name for name in namespace if not name.startswith("__"))})

    return resolve, listing


def _unknown(package: str, name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"; the nearest names it has: {', '.join(near)}" if near else ""
    return f"the emulation of {package} has no attribute {name!r}{hint}"
