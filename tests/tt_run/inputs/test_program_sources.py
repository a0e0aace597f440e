"""Where a program's sources mention a variable."""

from __future__ import annotations

import pytest

from tests.tt_run.sandbox import Sandbox
from tt_run.inputs.program_sources import mentioned_names, texts


def test_a_name_has_its_first_place_in_the_script_or_in_what_it_imports(sandbox: Sandbox) -> None:
    sandbox.write("x.py", 'import side\nprint(environ["HOME"])\nprint("HOME")\n')
    sandbox.write("side.py", "# 'USER'\n")
    sandbox.write("run.sh", "echo ${PLACE} $OTHER\n")
    found = mentioned_names(
        ("python", "x.py", "run.sh"), {"HOME", "USER", "PLACE", "OTHER", "ABSENT"}, sandbox.site
    )
    assert {name: str(place) for name, place in found.items()} == {
        "HOME": "x.py:2:16",
        "USER": "side.py:1:4",
        "PLACE": "run.sh:1:8",
        "OTHER": "run.sh:1:16",
    }
    assert len(list(texts(("python", "x.py"), sandbox.site))) == 2


@pytest.mark.parametrize("module", ["/", ".", "..", "", "a..b", "nothing.of.it"])
def test_no_module_is_no_source(sandbox: Sandbox, module: str) -> None:
    assert list(texts(("python", "-m", module), sandbox.site)) == []


def test_a_file_that_is_no_text_is_no_source(sandbox: Sandbox) -> None:
    sandbox.write("x.py", "X")
    (sandbox.cwd / "weights").write_bytes(b"\xff\xfe")
    assert list(texts(("weights", "x.py"), sandbox.site)) == ["X"]
