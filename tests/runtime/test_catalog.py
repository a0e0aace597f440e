"""The declarations of all operations: complete, findable, and told truly by the page of operations."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

from tests.runtime.mpi import ROOT
from tt_run.runtime import catalog
from tt_run.runtime.native import names as reference
from tt_run.runtime.ops.declaration.dispatch import ACCEPTED, REFUSED, VALUES
from tt_run.runtime.ops.declaration.written_names import written_names
from tt_run.runtime.tools.golden import get_golden_function


def test_every_operation_is_declared_whole():
    for name, operation in catalog.every().items():
        assert operation.family is not None, name
        assert operation.cost is not None, name
        assert operation.state in (VALUES, ACCEPTED, REFUSED), name
        assert operation.__doc__, name
        assert inspect.signature(operation.compute), name


def test_every_module_that_declares_operations_is_listed():
    """What none lists is found by nobody, nor missed by the tests that go through the catalogue."""
    declares = re.compile(r"^@operation\(|^(\w+ = )?declare\w*\(|^\w+ = operation\(", re.MULTILINE)
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "tt_run/runtime").rglob("*.py")
        if declares.search(path.read_text(encoding="utf-8"))
    }
    unlisted = sorted(modules - set(catalog.MODULES))
    assert len(modules) > 60
    assert not unlisted, (
        "add a line to MODULES in tt_run/runtime/ops/__init__.py (operations) or tt_run/runtime/catalog.py (collectives, sockets) "
        f"and run scripts/gen: {unlisted}"
    )


def test_the_page_says_of_every_operation_what_it_is():
    page = (ROOT / reference.PAGE).read_text(encoding="utf-8")
    told = {}
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        namespace = section.split("`")[1]
        rows = re.findall(r"^\| `([\w.]+)` \|.*\| (\w+)[^|]* \|$", section, re.MULTILINE)
        told |= {f"{namespace}.{name}": state for name, state in rows}
    declared = catalog.every()
    rooms = {name.rpartition(".")[0] for name in told}
    shown = {name: o.state for name, o in declared.items() if name.rpartition(".")[0] in rooms}
    assert len(shown) > 600
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


def test_the_written_names_are_those_of_all_operations():
    assert written_names() == set(catalog.every()), "run scripts/gen"


MISSES = """
import pickle, sys
import ttnn
import ttnn.transformer
import tt_run.runtime.ops
before = set(sys.modules)
assert not hasattr(ttnn, "INT") and not hasattr(ttnn.transformer, "add")
assert {"add", "conv2d"} <= set(dir(ttnn)) and "INT" not in dir(ttnn)
assert set(sys.modules) - before <= {"tt_run.runtime.catalog"}, set(sys.modules) - before
try:
    ttnn.al_reduce
except AttributeError as error:
    copy = pickle.loads(pickle.dumps(error))
    assert type(error).__name__ == "AttributeError" and type(copy) is AttributeError
    print(copy)
"""


def test_a_name_that_no_operation_has_loads_none():
    words = [sys.executable, "-m", "tt_run.emulate", "-c", MISSES]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip().endswith("the nearest names it has: all_reduce"), ran.stdout
