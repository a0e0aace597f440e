"""The environment policy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgd.diagnostics import Position
from tests.tt_run.sandbox import Sandbox, codes, only
from tt_run.inputs.environment import BLOCKED, expander, managed, passed_through, per_rank_folders
from tt_run.inputs.findings import Findings
from tt_run.inputs.settings import Setting
from tt_run.inputs.site import Site


def expanded(sandbox: Sandbox, value: str) -> str:
    setting = Setting(value, "global_env", Position("rb.yaml", 3, 1))
    return expander(sandbox.site, sandbox.findings)("X", setting).value


def test_prefixes_pass_and_blocked_names_do_not(sandbox: Sandbox) -> None:
    passing = (
        "TT_FOO",
        "ARCH_NAME",
        "WH_X",
        "TTNN_Y",
        "RELIABILITY_MODE",
        "RELIABILITY_MODE_X",
        "DEEPSEEK_A",
        "MESH_D",
    )
    sandbox.set(**dict.fromkeys((*passing, *BLOCKED, "TTXLA", "HF_HOME", "OMPI_MCA_x"), "v"))
    assert tuple(passed_through(sandbox.site)) == passing


def test_what_is_managed(sandbox: Sandbox) -> None:
    sandbox.set(VIRTUAL_ENV="/venv", PYTHONHOME="", TT_METAL_HOME="")
    values = {name: variable.value for name, variable in managed(sandbox.site).items()}
    assert values == {
        "TT_METAL_HOME": "",
        "TT_METAL_RUNTIME_ROOT": "",
        "PYTHONPATH": str(sandbox.cwd),
        "LD_LIBRARY_PATH": f"{sandbox.cwd}/build/lib",
        "TT_RUN_ORIGINAL_CWD": str(sandbox.cwd),
        "HOME": str(sandbox.home),
        "USER": "tester",
        "PATH": "/usr/bin:/bin",
        "VIRTUAL_ENV": "/venv",
    }


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("$HOME/x", "{home}/x"),
        ("${HOME}x", "{home}x"),
        ("$$HOME", "${home}"),
        ("a$", "a$"),
        ("~/x %HOME%", "~/x %HOME%"),
        ("$USERx", "$USERx"),
        ("$USER-x", "tester-x"),
        ("${USER", "${USER"),
    ],
)
def test_references_are_replaced_from_the_shell(sandbox: Sandbox, value: str, result: str) -> None:
    assert expanded(sandbox, value) == result.replace("{home}", str(sandbox.home))


def test_an_unset_name_stays_and_is_told(sandbox: Sandbox) -> None:
    assert expanded(sandbox, "${NOT_SET}/$HOME") == "${NOT_SET}/" + str(sandbox.home)
    finding = only(sandbox.findings.judged, "TTR119")
    assert str(finding.position) == "rb.yaml:3:1"
    assert finding.help.startswith("export NOT_SET")


def test_a_global_setting_is_expanded_once(sandbox: Sandbox) -> None:
    setting = Setting("$NOT_SET", "global_env", Position("rb.yaml", 3, 1))
    expand = expander(sandbox.site, sandbox.findings)
    assert expand("X", setting) is expand("X", setting)
    assert codes(sandbox.findings.judged) == ["TTR119"]


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0$")))
def test_values_without_references_are_byte_exact(value: str) -> None:
    site = Site({"HOME": "/h"}, cwd=os.path.sep, hostname="vm", cores=1)  # type: ignore[arg-type]
    findings = Findings()
    setting = Setting(value, "env_overrides", Position("f", 1, 1))
    assert expander(site, findings)("X", setting).value == value
    assert not findings.judged


@given(st.text(alphabet="$AB{}_1 x", max_size=12))
def test_expansion_is_that_of_the_reference(value: str) -> None:
    """The standard library's rule: a name, or anything in braces; what is unset stays."""
    environ = {"A": "<$B>", "AB": "ab", "1": "one", "A B": "blank"}
    site = Site(environ, cwd=os.path.sep, hostname="vm", cores=1)  # type: ignore[arg-type]
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(environ)
        expected = os.path.expandvars(value)
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert expander(site, Findings())("X", Setting(value, "g", Position("f", 1, 1))).value == expected


def folders(sandbox: Sandbox, rank: int) -> dict[str, str]:
    base = passed_through(sandbox.site)
    return {name: variable.value for name, variable in per_rank_folders(sandbox.site, "hostA", rank, base)}


def test_cache_and_logs_are_unique_for_each_rank(sandbox: Sandbox) -> None:
    assert folders(sandbox, 3) == {
        "TT_METAL_CACHE": f"{sandbox.home}/.cache/hostA_rank3",
        "TT_METAL_LOGS_PATH": f"{sandbox.home}/.cache/hostA_rank3/logs",
    }


def test_folders_of_the_shell_get_one_for_each_rank_but_not_twice(sandbox: Sandbox) -> None:
    sandbox.set(TT_METAL_CACHE="/nfs/cache/", TT_METAL_LOGS_PATH="/logs/hostA_rank_3")
    assert folders(sandbox, 3) == {
        "TT_METAL_CACHE": "/nfs/cache/hostA_rank_3",
        "TT_METAL_LOGS_PATH": "/logs/hostA_rank_3",
    }


@pytest.mark.parametrize(("told", "columns"), [(90, 90), (0, None)])
def test_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch, told: int, columns: int | None) -> None:
    """What a rank's pictures are fitted to; a terminal of unknown width says 0."""

    def size(stream: int) -> os.terminal_size:
        assert stream == 1, "pictures go to standard output"
        return os.terminal_size((told, 24))

    monkeypatch.setattr(os, "get_terminal_size", size)
    assert Site.current().columns == columns


@pytest.mark.parametrize("there", [True, False])
def test_a_machine_may_not_tell_its_interfaces(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setattr(Path, "is_dir", lambda path: there)
    monkeypatch.setattr(Path, "iterdir", lambda path: iter([path / "lo"]))
    assert Site.current().interfaces == (frozenset({"lo"}) if there else None)
