"""The operations have the parameters of the reference's, where its list of signatures is at hand."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pytest

import tt_run.shims.ttnn as ttnn
from tests.runtime.mpi import ROOT

SIGNATURES = (
    Path(os.environ.get("TT_RUN_CORPUS", ROOT.parent / "shared" / "corpus")).parent
    / "spec"
    / "ttnn-signatures.txt"
)

# The documents' programs pass the mesh to an all-gather.
ACCEPTED = {"all_gather": {"mesh_device"}}
# Their forms are told apart by what they are given; each form has a test of its own.
SEVERAL_FORMS = {"experimental.all_gather_async", "experimental.all_reduce_async"}


def parameters(signature: str) -> Iterator[tuple[str, str | None]]:
    """Names and defaults of `name(a: type, *, b: type = default)`."""
    depth, word = 0, ""
    for character in signature[signature.index("(") + 1 : signature.rindex(")")] + ",":
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            name = word.split(":")[0].strip()
            if name != "*":
                yield name, word.rpartition("=")[2].strip() if "=" in word else None
            word = ""
        else:
            word += character


def listed() -> dict[str, list[str]]:
    """Every operation with the signatures that are known of it."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in SIGNATURES.read_text().splitlines() if SIGNATURES.is_file() else []:
        if " :: " in line:
            name, _, line = line.partition(" :: ")
            found[name] = []
        if "(" in line:
            found[name].append(line.strip())
    return found


@pytest.mark.skipif(
    not SIGNATURES.is_file(), reason="the recorded list of signatures is not here (TT_RUN_CORPUS)"
)
@pytest.mark.parametrize("name", sorted(listed()))
def test_parameters_are_the_references(name: str) -> None:
    found = reduce(getattr, name.split("."), ttnn)
    known = [dict(parameters(signature)) for signature in listed()[name]]
    if not known or name in SEVERAL_FORMS:
        return
    wanted = {parameter: default for form in known for parameter, default in form.items()}
    own = inspect.signature(found).parameters
    variadic = {word for word, p in own.items() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    assert set(wanted) <= set(own)
    assert set(own) - set(wanted) - variadic == ACCEPTED.get(name, set())
    for parameter, default in wanted.items():
        if default in ("True", "False") or (default or "").lstrip("-").replace(".", "").isdigit():
            assert repr(own[parameter].default) == default, parameter
        if (default or "").startswith("Topology."):
            assert str(own[parameter].default) == default, parameter
