"""gdbserver and Tracy before the program."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tt_run.sandbox import Sandbox, codes
from tt_run.errors import UsageError
from tt_run.inputs.wrapping import parse_tracy, with_gdbserver, with_tracy


def test_gdbserver_has_a_port_for_each_rank() -> None:
    words = with_gdbserver(("./app", "a b", "$x"), 2)
    assert words[:2] == ("bash", "-c")
    assert (
        words[2]
        == "echo \"Rank 2 on $(hostname) listening on :20002\"; exec gdbserver :20002 ./app 'a b' '$x'"
    )


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\0")), min_size=1, max_size=4))
def test_any_word_survives_the_shell(words: list[str]) -> None:
    script = with_gdbserver(tuple(words), 0)[2]
    assert shlex.split(script.split("exec gdbserver :20000 ", 1)[1]) == words


def test_tracy_defaults(sandbox: Sandbox) -> None:
    tracy = parse_tracy("", sandbox.site)
    folder = f"{sandbox.cwd}/generated/profiler/ttrun"
    assert with_tracy(("./app", "x"), tracy, 1, sandbox.site) == (
        *(sys.executable, "-m", "tracy", "--port", "8088", "-o", f"{folder}/rank1"),
        *("./app", "x"),
    )
    assert not (sandbox.cwd / "generated").exists()


def test_tracy_takes_its_options_and_passes_the_rest(sandbox: Sandbox) -> None:
    tracy = parse_tracy("-t 9000 --output-folder=/out -r --sync-host-device 'a b'", sandbox.site)
    assert (tracy.port, str(tracy.folder)) == (9000, "/out")
    assert tracy.options == ("-r", "--sync-host-device", "a b")


@pytest.mark.parametrize(
    ("program", "profiled"),
    [
        (("python3", "app.py", "-x"), ("app.py", "-x")),
        (("/usr/bin/python", "-m", "pytest"), ("-m", "pytest")),
        (("python",), ("python",)),
        (("json", "x"), ("-m", "json", "x")),
        (("sh", "-c", "true"), ("sh", "-c", "true")),
        (("app.py",), ("app.py",)),
    ],
)
def test_how_tracy_gets_the_program(
    sandbox: Sandbox, program: tuple[str, ...], profiled: tuple[str, ...]
) -> None:
    tracy = parse_tracy("-o /out", sandbox.site)
    words = with_tracy(program, tracy, 0, sandbox.site)
    assert words[words.index("/out/rank0") + 1 :] == profiled


def test_a_python_command_on_path_runs_as_module(sandbox: Sandbox) -> None:
    command = sandbox.write("bin/mytool", "#!/usr/bin/env python3\n")
    command.chmod(0o755)
    sandbox.set(PATH=str(command.parent))
    tracy = parse_tracy("-o /out", sandbox.site)
    assert with_tracy(("mytool",), tracy, 0, sandbox.site)[-2:] == ("-m", "mytool")


def test_a_command_that_cannot_be_read_is_not_taken_for_python(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that may be run and not read, as some installed programs are."""
    sandbox.write("bin/sealed", "#!/usr/bin/env python3\n").chmod(0o711)
    sandbox.set(PATH=str(sandbox.cwd / "bin"))

    def refuse(path: Path, *_: object) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)  # root may read everything
    tracy = parse_tracy("-o /out", sandbox.site)
    assert "-m" not in with_tracy(("sealed",), tracy, 0, sandbox.site)[-2:]


@pytest.mark.parametrize("text", ["-t", "--port", "-o", "-t 0", "-t x", "--port=-1", "'open"])
def test_what_tracy_refuses(sandbox: Sandbox, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_tracy(text, sandbox.site)
    assert codes(caught.value.diagnostics) == ["TTR010"]
