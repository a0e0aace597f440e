"""The command as a whole: help, version, completion."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mgd.cli import group
from mgd.cli.group import VERBS
from tests.mgd.cli.run import Mgd


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_run_by_a_test(verb: str) -> None:
    here = Path(__file__).resolve()
    called = re.compile(rf"""mgd\(\s*"{verb}"|"mgd", "{verb}"|mgd\.cli\.{verb}""")
    tests = [path for folder in ("mgd", "tt_run", "e2e") for path in (here.parents[2] / folder).rglob("*.py")]
    assert any(called.search(path.read_text(encoding="utf-8")) for path in tests), (
        f'no test runs mgd {verb}: add one beside this file, as in mgd("{verb}")'
    )


@pytest.mark.parametrize("columns", [80, 200])
def test_the_help_is_as_wide_as_the_terminal(mgd: Mgd, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """And the same whether one asks for it or says nothing."""
    monkeypatch.setenv("COLUMNS", str(columns))
    asked, nothing = mgd("--help"), mgd()
    assert (asked.code, nothing.code) == (0, 2)
    assert asked.out == nothing.err
    assert max(map(len, asked.out.splitlines())) <= columns


def test_the_help_of_a_verb_fits_a_narrow_terminal(mgd: Mgd, monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrower than click lets a terminal be."""
    monkeypatch.setenv("COLUMNS", "40")
    for verb in ("systems", "show"):
        assert max(map(len, mgd(verb, "--help").out.splitlines())) <= 40


@pytest.mark.parametrize(("columns", "width"), [(0, None), (40, 38), (51, 49), (52, None)])
def test_click_is_told_of_narrow_terminals(
    monkeypatch: pytest.MonkeyPatch, columns: int, width: int | None
) -> None:
    """Of 52 columns it writes 50 anyway; where there is no terminal (0), as many as it likes."""
    monkeypatch.setattr(group, "page_width", lambda *_: columns)
    assert group._narrow() == ({} if width is None else {"terminal_width": width})


@pytest.mark.parametrize(("columns", "last"), [(80, "ARCH"), (200, "ALSO CALLED")])
def test_systems_fit_the_terminal(mgd: Mgd, monkeypatch: pytest.MonkeyPatch, columns: int, last: str) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    head, *lines = mgd("systems").out.splitlines()
    assert head.endswith(last) and max(map(len, lines)) <= columns


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_each_verb_fits_one_screen(mgd: Mgd, verb: str) -> None:
    result = mgd(verb, "--help")
    assert result.code == 0
    assert len(result.out.splitlines()) <= 40 and max(map(len, result.out.splitlines())) <= 110


def test_version(mgd: Mgd) -> None:
    result = mgd("--version")
    assert result.code == 0 and result.out.startswith("mgd ")


def test_a_misspelt_verb(mgd: Mgd) -> None:
    result = mgd("chekc")
    assert result.code == 2 and "did you mean `mgd check`?" in result.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(mgd: Mgd, shell: str) -> None:
    result = mgd("completion", shell)
    assert result.code == 0 and "_MGD_COMPLETE" in result.out
    assert 'string split ","' not in result.out  # it would end a description at its first comma


def test_schema_lists_and_prints(mgd: Mgd) -> None:
    import json

    listed = [line.split()[0] for line in mgd("schema").out.splitlines() if line[:1].strip()]
    assert "rank-bindings" in listed and "mesh-graph-descriptor-1.0" in listed
    for name in listed:
        assert json.loads(mgd("schema", name).out)["$schema"]
    assert mgd("schema", "nothing").code == 2
