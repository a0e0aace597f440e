"""The declarations of all operations: complete, findable, and told truly by the page of operations."""

from __future__ import annotations

import inspect
import re

import pytest

from tests.runtime.mpi import ROOT
from tt_run.runtime import catalog
from tt_run.runtime.native import names as reference
from tt_run.runtime.ops.declaration.dispatch import ACCEPTED, REFUSED, VALUES
from tt_run.runtime.tools.golden import get_golden_function


def test_every_operation_is_declared_whole():
    for name, operation in catalog.every().items():
        assert operation.family is not None, name
        assert operation.cost is not None, name
        assert operation.state in (VALUES, ACCEPTED, REFUSED), name
        assert operation.__doc__, name
        assert inspect.signature(operation.compute), name


def test_the_page_says_of_every_operation_what_it_is():
    page = (ROOT / reference.PAGE).read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([\w.]+)` \| (\w+) \|", page, re.MULTILINE))
    declared = catalog.every()
    rooms = {name.rpartition(".")[0] for name in told}
    shown = {name: o.state for name, o in declared.items() if name.rpartition(".")[0] in rooms}
    assert {name: told.get(name) for name in shown} == shown
    assert {o.name for o in declared.values()} <= set(told), (
        "an operation of a namespace that the page has no section for"
    )
    for name in reference.operations():
        if name.count(".") == 1 and name not in declared:
            assert told[name] in ("absent", "kernel"), name


def test_golden_functions_by_operation():
    relu = catalog.find("ttnn.digamma")
    assert relu is not None
    torch = pytest.importorskip("torch")
    x = torch.tensor([0.5, 2.0])
    assert torch.equal(get_golden_function(relu)(x), torch.digamma(x))
    bare = catalog.find("ttnn.deallocate")
    assert bare is not None
    with pytest.raises(RuntimeError, match="does not have a golden function"):
        get_golden_function(bare)
