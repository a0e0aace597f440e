"""Libraries are met as the program loads them: mpi4py, whose calls are agreed on or written down, and PyTorch, whose chance is recorded."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

Loaded = Callable[[ModuleType], None]


class Finder:
    """Hands modules over once they have been loaded, by their names."""

    def __init__(self, loaded: Mapping[str, Loaded]) -> None:
        self._loaded = dict(loaded)
        self._asks = False
        # A package may put a finder of its own before this one, as mpi4py does for the library that it was built for.
        self._packages = {name.partition(".")[0] for name in loaded}

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """The library's own spec, with what follows its loading."""
        if self._asks or (name not in self._loaded and name not in self._packages):
            return None
        self._asks = True  # another of this kind asks this one in turn
        try:
            others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
            spec = next((found for found in others if found is not None), None)
        finally:
            self._asks = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._loaded.get(name, self._first))  # type: ignore[assignment]
        return spec

    def _first(self, _: ModuleType) -> None:
        sys.meta_path.remove(self)
        sys.meta_path.insert(0, self)


class _Loader:
    def __init__(self, inner: Any, loaded: Loaded) -> None:
        self._inner, self._loaded = inner, loaded

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        self._loaded(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
