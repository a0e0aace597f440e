"""Imports inside of mgd run in no circle, those inside of functions neither."""

from __future__ import annotations

import graphlib

from tests.test_architecture import imports, modules


def test_no_module_imports_itself_in_the_end() -> None:
    own = {name: path for name, path in modules() if name.split(".")[0] == "mgd"}
    needs: dict[str, set[str]] = {}
    for name, path in own.items():
        named = {imported for imported, _ in imports(path)}
        found = named | {imported.rpartition(".")[0] for imported in named}
        needs[name] = {each for each in found if each in own and own[each].name != "__init__.py"} - {name}
    order = list(graphlib.TopologicalSorter(needs).static_order())  # raises CycleError with the circle
    assert order.index("mgd.lean") < order.index("mgd.checking") < order.index("mgd.expansion")
