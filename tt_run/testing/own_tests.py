"""The folder `tests` of the suite that runs, where this project is installed in place and has a package of that name.

A folder without `__init__.py` yields to any package of its name that is found later on the path. Suites whose tests import helpers
as `tests.…` from such a folder would find this project's own tests there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path

NAME = "tests"
_CHECKOUT = Path(__file__).resolve().parents[2]


def prefer(roots: Iterable[Path]) -> None:
    """Let `tests` be the folder in the first of the roots that has one without `__init__.py`, unless another package is meant."""
    if NAME in sys.modules or not _found_here(PathFinder.find_spec(NAME)):
        return
    for root in roots:
        folder = PathFinder.find_spec(NAME, [str(root)])
        if folder is None:
            continue
        if folder.loader is None or folder.origin is None:
            sys.modules[NAME] = module_from_spec(folder)
        return


def _found_here(spec: ModuleSpec | None) -> bool:
    return (
        spec is not None
        and spec.origin is not None
        and Path(spec.origin).resolve().parent.parent == _CHECKOUT
    )
