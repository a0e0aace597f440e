"""One view of two kinds of model: torch modules, and trees of plain Python objects that hold NumPy arrays.

A plain object is a module; its arrays are parameters, its other objects with attributes are children, a list of objects is a list of
modules. What a module is, is told by class names along its ancestry: `Linear`, `LayerNorm`, `Embedding`.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_NO_CHILDREN = (type, np.ndarray, FunctionType, BuiltinFunctionType, MethodType, ModuleType)


def is_a(module: Any, name: str) -> bool:
    """Whether a module's class or one of its bases has this name."""
    return any(base.__name__ == name for base in type(module).__mro__)


def is_module_list(module: Any) -> bool:
    """Whether it stands for a list of modules."""
    return isinstance(module, (list, tuple)) or is_a(module, "ModuleList")


def parameters_of(module: Any) -> list[tuple[str, Any]]:
    """The module's own parameters, by name; those of its children are not among them."""
    if hasattr(module, "named_parameters"):
        return [(name, value) for name, value in module.named_parameters() if "." not in name]
    return [(name, value) for name, value in _attributes(module) if isinstance(value, np.ndarray)]


def children_of(module: Any) -> list[tuple[str, Any]]:
    """The module's children, by name."""
    if isinstance(module, (list, tuple)):
        return [(str(i), child) for i, child in enumerate(module)]
    if hasattr(module, "named_children"):
        return list(module.named_children())
    return [(name, value) for name, value in _attributes(module) if _is_child(value)]


def enter_evaluation(module: Any) -> bool:
    """Leave training mode; returns whether the module was in it. Plain objects have none."""
    was_training = bool(getattr(module, "training", False))
    if was_training and callable(getattr(module, "eval", None)):
        module.eval()
    return was_training


def _attributes(module: Any) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in vars(module).items() if not name.startswith("_"))


def _is_child(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(_is_child(item) for item in value)
    return hasattr(value, "__dict__") and not isinstance(value, _NO_CHILDREN)
