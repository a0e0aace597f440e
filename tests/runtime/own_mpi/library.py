"""The words of mpi4py's methods, read from its stubs: to import it would start MPI."""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path


@cache
def signatures(*kinds: str) -> dict[str, list[str]]:
    """The words of each method of the classes whose names end so, without `self`."""
    found = importlib.util.find_spec("mpi4py")
    assert found is not None and found.origin is not None
    tree = ast.parse(Path(found.origin).with_name("MPI.pyi").read_text(encoding="utf-8"))
    return {
        each.name: [one.arg for one in each.args.args[1:]]
        for kind in tree.body
        if isinstance(kind, ast.ClassDef) and kind.name.endswith(kinds)
        for each in kind.body
        if isinstance(each, ast.FunctionDef)
    }
