"""Mistakes that people make, each with the one message that it gets."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from mgd.resources import configs_root
from tt_run.cli import main
from tt_run.cli.commands import COMMANDS, LAUNCHING, named_command
from tt_run.cli.main import run
from tt_run.cli.reading.parse import parse
from tt_run.cli.reading.python_slips import (
    hidden_packages,
    isolated_python,
    lost_modules,
    lost_script,
    refuse_lost_script,
)
from tt_run.contract import Exit
from tt_run.errors import InputError
from tt_run.inputs.site import Site


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A launch directory with one file of each kind."""
    configs = configs_root()
    text = (configs / "bindings/t3k_2x4_two_hosts.yaml").read_text()
    shutil.copy(configs / "mgd/t3k_2x4_two_hosts.textproto", tmp_path / "mesh.textproto")
    (tmp_path / "ranks.yaml").write_text(
        re.sub(r"(?m)^mesh_graph_desc_path:.*", "mesh_graph_desc_path: mesh.textproto", text)
    )
    (tmp_path / "contexts.yaml").write_text("subcontext_id_to_rank_bindings: {0: ranks.yaml}\n")
    (tmp_path / "pins.yaml").write_text("rank_pinnings: [{rank: 0, host: a}]\n")
    (tmp_path / "x.py").write_text("import argparse\nparser = argparse.ArgumentParser()\n")
    (tmp_path / "own.py").write_text("parser.add_argument('--timeout')\n")
    (tmp_path / "told.py").write_text("# It knows no timeout of its own.\n")
    (tmp_path / "words.py").write_text("import sys\nprint(sys.argv)\n")
    (tmp_path / "some.py").write_text("parser.parse_known_args()\n")
    (tmp_path / "m.json.svg").mkdir()
    (tmp_path / "book.ipynb").write_text("{}")
    shutil.copytree(configs / "starter", tmp_path / "first")
    (tmp_path / "wide.yaml").write_text("rank_bindings: []\n", encoding="utf-16")
    (tmp_path / "bytes.yaml").write_bytes(b"\xa4\0\x96")
    (tmp_path / "latin.yaml").write_bytes("# Gerät\n".encode("latin1"))
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "code", "says", "help"),
    [
        ("-np 2 python x.py", "TTR020", "no option -np", "--split 1x2 makes 2"),
        ("-np 8 python x.py", "TTR020", "no option -np", "--split 2x4 makes 8"),
        ("--nproc-per-node=4 x.py", "TTR020", "no option --nproc-per-node", "--split 2x2 makes 4"),
        ("--ranks three x.py", "TTR020", "no option --ranks", "--split 1x2 makes 2"),
        ("doctor --system t300", "TTR012", "no system is called 't300'", "write --system t3000"),
        ("--emulate --guard of python x.py", "TTR021", "--guard of: not one of on, off", "write --guard off"),
        (
            "--emulate --predict p.json python x.py",
            "TTR021",
            "a value of this option is joined to it",
            "write --predict=p.json python x.py",
        ),
        ("--ranks 2 python x.py", "TTR020", "no option --ranks", "--split 1x2"),
        ("--env A=1 python x.py", "TTR020", "no option --env", "env_overrides"),
        (
            "python x.py --emulate --system t3000",
            "TTR002",
            "--emulate --system t3000 stand after the program",
            "write tt-run --emulate --system t3000 python x.py",
        ),
        (
            "tt-run --emulate --system t3000 python x.py",
            "TTR002",
            "the program is tt-run itself",
            "write it once: tt-run --emulate --system t3000 python x.py",
        ),
        (
            "--emulate --system t3000 --split 0x1 python x.py",
            "TTR008",
            "each side has at least one host",
            "--split 1x2",
        ),
        (
            "--emulate --system ranks.yaml python x.py",
            "TTR012",
            "no system is called 'ranks.yaml'",
            "--emulate --rank-binding ranks.yaml",
        ),
        (
            "--emulate --system t3000,galaxy python x.py",
            "TTR012",
            "no system is called",
            "tt-run what-if --systems t3000,galaxy",
        ),
        (
            "--rank-binding ranks.yaml --hosts a=1 python x.py",
            "TTR015",
            "'a=1' holds '='",
            "write --hosts a:1",
        ),
        (
            "--rank-binding ranks.yaml --hosts= python x.py",
            "TTR015",
            "No valid hostnames",
            "--hosts host1,host2",
        ),
        (
            "--rank-binding ranks.yaml --mpi-args '--rankfile mesh.textproto' true",
            "TTR028",
            "--rankfile mesh.textproto: the file holds a mesh graph descriptor",
            "write -m mesh.textproto in place of --rankfile",
        ),
        (
            "--rank-binding ranks.yaml --mpi-args '--hostfile ranks.yaml' true",
            "TTR028",
            "--hostfile ranks.yaml: the file holds rank bindings",
            "in place of --hostfile",
        ),
        (
            "-m mesh.textproto --hosts pins.yaml python x.py",
            "TTR015",
            "--hosts pins.yaml: a file",
            "write --mpi-args '--hostfile pins.yaml'",
        ),
        (
            "clean yesterday",
            "TTR021",
            "tt-run clean: unexpected yesterday",
            "write tt-run clean; tt-run clean --help",
        ),
        (
            "--rank-binding ranks.yaml --hosts 'a:1 b:1' python x.py",
            "TTR015",
            "holds a blank",
            "write --hosts a:1,b:1",
        ),
        (
            "--rank-binding ranks.yaml --hosts a:1:2 python x.py",
            "TTR015",
            "'a:1:2' has two counts of slots",
            "write --hosts host1:2,host2:2",
        ),
        ("--emulate --tee 0-2 python x.py", "TTR033", "'0-2' is not understood", "write --tee 0,1,2"),
        ("--emulate --tee rank1 python x.py", "TTR033", "'rank1' is not understood", "write --tee 1"),
        ("logs --tail 3", "TTR020", "tt-run logs has no option --tail", "it has --rank, --follow, --log-dir"),
        ("examples ring", "TTR044", "there is no example ring", "did you mean ring_all_gather?"),
        ("--nproc 4 python x.py", "TTR020", "no option --nproc", "--split 2x2"),
        ("--hostfile h python x.py", "TTR020", "no option --hostfile", "--mpi-args '--hostfile FILE'"),
        ("--bind-to none python x.py", "TTR020", "no option --bind-to", "--mpi-args '--bind-to none'"),
        (
            "--emulate --system t3000 --ledger python x.py",
            "TTR021",
            "--ledger has no value: it took 'python'",
            "write --ledger ledger.json python x.py",
        ),
        (
            "--emulate --system t3000 --report true",
            "TTR021",
            "--report has no value",
            "--report report.html true",
        ),
        ("--emulate --system 2x4 python x.py", "TTR012", "a system has a name", "--system t3000"),
        (
            "-m ranks.yaml --hosts a,b python x.py",
            "TTR028",
            "holds rank bindings",
            "--rank-binding ranks.yaml",
        ),
        ("--rank-binding mesh.textproto python x.py", "TTR028", "a mesh graph descriptor", "write -m mesh"),
        (
            "--rank-binding contexts.yaml python x.py",
            "TTR028",
            "a mapping of rank bindings",
            "--rank-bindings-mapping contexts.yaml",
        ),
        (
            "--rank-bindings-mapping ranks.yaml python x.py",
            "TTR028",
            "holds rank bindings",
            "--rank-binding ranks.yaml",
        ),
        ("--rank-binding pins.yaml python x.py", "TTR028", "a rank pinning file", "--rank-pinning-file"),
        (
            "--rank-binding ranks.yaml --factory-system-descriptor pins.yaml python x.py",
            "TTR028",
            "--factory-system-descriptor pins.yaml: the file holds a rank pinning file",
            "--rank-pinning-file",
        ),
        ("-m ranks.textproto --hosts a python x.py", "TTR101", "not found", "a name that mgd systems lists"),
        ("--rank-binding loop.yaml true", "TTR101", "not found", "name a regular file"),
        ("--rank-binding ranks.textproto true", "TTR101", "not found", "did you mean ranks.yaml?"),
        ("-m mesh.yaml python x.py", "TTR101", "not found", "did you mean mesh.textproto?"),
        ("-m ranks.yaml python x.py", "TTR028", "holds rank bindings", "--rank-binding ranks.yaml"),
        ("-m mesh.textproto python x.py", "TTR011", "--hosts is required", "add --hosts"),
        (
            "--rank_binding ranks.yaml python x.py",
            "TTR020",
            "no option --rank_binding",
            "did you mean --rank-binding?",
        ),
        ("-c 'print(1)'", "TTR020", "no option -c", "tt-run … python -c"),
        (
            "--rank-binding x.py python x.py",
            "TTR028",
            "holds a Python program",
            "write --rank-binding FILE python x.py",
        ),
        ("-m x", "TTR021", "no descriptor is called so", "a module runs as: tt-run … python -m x"),
        (
            "-m pytest ranks.yaml",
            "TTR021",
            "no descriptor is called so",
            "tt-run … python -m pytest ranks.yaml",
        ),
        ("-m own ranks.yaml", "TTR021", "no descriptor is called so", "tt-run … python -m own ranks.yaml"),
        ("run python x.py", "TTR020", "no command run", "write tt-run python x.py"),
        (
            "--emulate --system n300 tt-run --emulate python x.py",
            "TTR018",
            "would start tt-run again",
            "write tt-run … python x.py",
        ),
        (
            "--emulate mpirun -np 2 python x.py",
            "TTR018",
            "would start mpirun again",
            "write tt-run … python x.py",
        ),
        ("--emulate python y.py", "TTR013", "the script y.py is not in", "did you mean x.py?"),
        ("--split 1x2 python x.py", "TTR002", "nothing says which ranks", "--emulate --system t3000"),
        (
            "true --emulate --split --system n300",
            "TTR002",
            "--emulate --split --system n300 stand after the program",
            "--system n300 true",
        ),
        (
            "true --emulate --system='a b'",
            "TTR002",
            "--emulate '--system=a b' stand",
            "write tt-run --emulate '--system=a b' true",
        ),
        (
            "--emulate --rank-binding ranks.yaml --split 1x2 python x.py",
            "TTR008",
            "rank bindings say themselves",
            "leave --split out",
        ),
        (
            "--emulate --system n300 python ranks.yaml",
            "TTR013",
            "ranks.yaml is a YAML file",
            "--rank-binding ranks.yaml",
        ),
        (
            "--emulate --system n300 python -u book.ipynb",
            "TTR013",
            "book.ipynb is a notebook",
            "nbconvert --to script book",
        ),
        ("--emulate python", "TTR003", "python has no program", "tt-run … python script.py"),
        (
            "\u2014emulate --system t3000 python x.py",
            "TTR020",
            "\u2014emulate begins with a dash that is no hyphen",
            "write tt-run --emulate --system t3000 python x.py",
        ),
        (
            "--emulate \u2013system=t3000 python x.py",
            "TTR020",
            "no hyphen",
            "write tt-run … --system=t3000 python x.py",
        ),
        (
            "emulate --system t3000 python x.py",
            "TTR020",
            "no command emulate, but an option",
            "write tt-run --emulate",
        ),
        (
            "--emulate --system n300 --inject gone.yaml python x.py",
            "TTR101",
            "file of faults not found",
            "write a fault",
        ),
        (
            "python -u first/program.py",
            "TTR002",
            "first/pyproject.toml has defaults",
            "cd first && tt-run python -u program.py",
        ),
        (
            "--emulate --system n300 python -u -B",
            "TTR003",
            "python -u -B has no program",
            "python -u -B script.py",
        ),
        ("--emulate --system n300 python x", "TTR013", "the script x is not in", "did you mean x.py?"),
        (
            "--emulate --system n300 'python x.py'",
            "TTR013",
            "make 'python x.py' one word",
            "tt-run … python x.py",
        ),
        ("--emulate python -c", "TTR003", "python -c says not what", "python -c 'import ttnn'"),
        ("--emulate python3 -m", "TTR003", "python3 -m says not what", "python3 -m package.module"),
        ("--emulate python .", "TTR013", "the script . is a folder without a __main__.py", "such as own.py"),
        ("--emulate -- --timeout 5 python x.py", "TTR013", "after -- comes the program", "before --"),
        ("-x A=1 --emulate python x.py", "TTR020", "no option -x", "--mpi-args '-x A=1'"),
        ("--bind-to=core python x.py", "TTR020", "no option --bind-to", "--mpi-args '--bind-to core'"),
        ("--mca pml ob1 python x.py", "TTR020", "no option --mca", "--mpi-args '--mca pml …'"),
        ("--tag-output python x.py", "TTR020", "no option --tag-output", "--mpi-args '--tag-output'"),
        (
            "--emulate --system t300 python x.py",
            "TTR012",
            "no system is called 't300'",
            "write --system t3000",
        ),
        ("--rank-binding rnaks.yaml python x.py", "TTR101", "not found", "did you mean ranks.yaml?"),
        ("statsu", "TTR020", "no command statsu", "write tt-run status"),
        ("help statsu", "TTR020", "no command statsu", "write tt-run help status"),
        ("help nothing", "TTR020", "no command nothing", "tt-run help lists the commands"),
        ("init --hlp", "TTR020", "tt-run init has no option --hlp", "did you mean --help?"),
        ("what-if --nope", "TTR020", "tt-run what-if has no option --nope", "tt-run what-if --help"),
        ("--emulate --quiet python x.py", "TTR020", "no option --quiet", "--tee none"),
        ("--emulate --no-color python x.py", "TTR020", "no option --no-color", "NO_COLOR=1 tt-run"),
        ("--emulate --standalone python x.py", "TTR020", "no option --standalone", "leave it out"),
        ("--emulate --rdzv-backend=c10d python x.py", "TTR020", "no option --rdzv-backend", "leave it out"),
        ("--emulate --json python x.py", "TTR020", "no option --json", "--dry-run --format json"),
        (
            "--emulate --timeout python x.py",
            "TTR021",
            "--timeout has no value: it took 'python'",
            "write --timeout 60 python x.py",
        ),
        (
            "--emulate --guard python x.py",
            "TTR021",
            "--guard has no value: it took 'python'",
            "write --guard on python x.py",
        ),
        ("version", "TTR020", "no command version, but an option", "write tt-run --version"),
        (
            "--rank-binding wide.yaml true",
            "TTR102",
            "not UTF-8",
            "iconv -f utf-16 -t utf-8 wide.yaml > wide-utf8.yaml",
        ),
        ("--rank-binding bytes.yaml true", "TTR102", "not UTF-8", "name a text file"),
        (
            "--rank-binding latin.yaml true",
            "TTR102",
            "not UTF-8",
            "iconv -f latin1 -t utf-8 latin.yaml > latin-utf8.yaml",
        ),
        ("replya run --rank 3", "TTR020", "no command replya", "write tt-run replay run --rank 3"),
        (
            "--emulate --system n300 --ledger x.py/ledger.json python x.py",
            "TTR036",
            "x.py is a file, not a folder",
            "write --ledger FILE",
        ),
        (
            "--emulate --system n300 --record x.py python x.py",
            "TTR036",
            "it is a file, and a folder",
            "write --record DIR",
        ),
        ("--emulate --system n300 --report . python x.py", "TTR036", "it is a folder", "write --report FILE"),
        (
            "--emulate --system n300 --predict=/proc/x python x.py",
            "TTR036",
            "nothing may be written in /proc",
            "write --predict=FILE",
        ),
        (
            "--emulate --system n300 --log-dir /proc python x.py",
            "TTR036",
            "nothing may be written in /proc",
            "write --log-dir DIR",
        ),
        (
            f"--emulate --system n300 --timeline {'t' * 300} python x.py",
            "TTR036",
            "File name too long",
            "write --timeline FILE",
        ),
        (
            "--emulate --system n300 --memory=m.json python x.py",
            "TTR036",
            "m.json.svg is written beside it: it is a folder",
            "write --memory=FILE",
        ),
        (
            "--emulate --system n300 --ledger new/same.json --predict=new/../new/same.json python x.py",
            "TTR036",
            "--ledger writes it too",
            "write --predict=FILE",
        ),
        (
            "--emulate --system n300 --report r.pdf python x.py",
            "TTR036",
            "--report r.pdf: it writes .json or .html, not .pdf",
            "write --report r.json or r.html",
        ),
        (
            "--emulate --system n300 --predict=p.HTML python x.py",
            "TTR036",
            "it writes .json or .csv, not .html",
            "write --predict=p.json or p.csv",
        ),
        (
            "validate-model --calibrate x.py --output /proc/x",
            "TTR036",
            "nothing may be written in /proc",
            "write --output FILE",
        ),
    ],
)
def test_one_mistake_is_one_message(
    folder: Path, line: str, code: str, says: str, help: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(shlex.split(line)) in (Exit.USAGE, Exit.UNREADABLE)
    out, err = capsys.readouterr()
    assert out == ""
    first, *_ = err.splitlines()
    assert first.startswith(f"error[{code}]: ") and says in first
    assert any(line.startswith("  help: ") and help in line for line in err.splitlines())
    assert err.count("error[") == 1
    looks_only = named_command(shlex.split(line)) in set(COMMANDS) - set(LAUNCHING)
    assert err.endswith("1 error. Nothing was launched.\n") is not looks_only


def test_bindings_that_name_another_file_as_the_descriptor(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The place that is told second is the one to mend."""
    text = Path("ranks.yaml").read_text(encoding="utf-8").replace("mesh.textproto", "ranks.yaml")
    Path("own.yaml").write_text(text, encoding="utf-8")
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "desc_path" in each)
    assert run(["--rank-binding", "own.yaml", "true"]) == Exit.UNREADABLE
    err = capsys.readouterr().err
    assert "error[MGD201]: the file holds rank bindings" in err
    assert re.search(rf"--> own.yaml:{line}:\d+ +named here as the descriptor", err), err


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("init x.py", Exit.USAGE, "TTR043]: x.py is a file, and a folder is to be written"),
        ("init x.py/new", Exit.FAILED, "TTR039]: cannot use x.py"),
        (
            "examples ring_all_gather --to x.py",
            Exit.USAGE,
            "TTR036]: --to x.py: it is a file, and a folder is",
        ),
    ],
)
def test_a_folder_that_cannot_be_made(
    folder: Path, line: str, code: Exit, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(shlex.split(line)) == code
    assert f"error[{said}" in capsys.readouterr().err


def test_a_lost_file_of_our_own_is_a_bug(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not the user's to mend."""
    missing = Path(main.__file__).with_name("lost.py")
    monkeypatch.setattr(main, "named_command", lambda words: missing.read_bytes())
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert run(["ls"]) == Exit.INTERNAL


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("python x.py --timeout 5", "--timeout 5"),
        ("python x.py --ledger=f", "--ledger=f"),
        ("python own.py --timeout 5", None),
        ("python told.py --timeout 5", "--timeout 5"),
        ("python words.py --timeout 5", None),
        ("python some.py --timeout 5", None),
        ("python x.py --verbose --version", None),
        ("python -m json.tool --timeout 5", None),
        ("python x.py --help", None),
    ],
)
def test_options_behind_the_program(
    folder: Path, program: str, told: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning, where the program's sources know nothing of the word."""
    assert run(["--emulate", "--system", "n300", "--check-only", *program.split()]) == Exit.OK
    err = capsys.readouterr().err
    assert ("TTR027" in err) is (told is not None)
    if told:
        assert f"{told} stands after the program" in err and f"tt-run {told} …" in err


def test_nothing_at_all_shows_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == Exit.USAGE
    short = capsys.readouterr().out
    assert short.startswith("Usage: tt-run ") and "tt-run --help lists the options" in short
    assert len(short.splitlines()) < 40 and "--emulate --system t3000" in short and "  status " in short
    assert run(["-h"]) == Exit.OK
    assert "--hang-timeout SECONDS" in capsys.readouterr().out


class TestForPrograms:
    """Findings of a launch as GitHub annotations and as JSON."""

    def test_a_refusal(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "ranks.yaml").write_text(
            (folder / "ranks.yaml").read_text().replace("mesh_id: 0", "mesh_id: 7")
        )
        words = ["--annotations", "github", "--dry-run", "--format", "json", "--rank-binding", "ranks.yaml"]
        assert run([*words, "true"]) == Exit.REFUSED
        *annotations, view = capsys.readouterr().out.splitlines()
        assert annotations[0].startswith("::error file=ranks.yaml,line=")
        assert "title=TTR204::" in annotations[0] and "%0Ahelp: " in annotations[0]
        findings = json.loads(view)["findings"]
        assert len(findings) == len(annotations) and findings[0]["code"] == "TTR204"
        assert [label["file"] for label in findings[0]["labels"]] == ["ranks.yaml", "mesh.textproto"]

    def test_a_sound_plan(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        words = ["--rank-binding", "ranks.yaml", "--hosts", "a,b", "--annotations", "github"]
        assert run([*words, "--check-only", "--format", "json", "true"]) == Exit.OK
        annotation, view = capsys.readouterr().out.splitlines()
        assert annotation.startswith("::warning title=TTR308::")
        assert json.loads(view)["ranks"] == 2

    def test_a_plan_in_json_has_its_findings(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert (
            run(["--rank-binding", "ranks.yaml", "--hosts", "a,b", "--dry-run", "--format", "json", "true"])
            == 0
        )
        [view] = capsys.readouterr().out.splitlines()
        assert [each["code"] for each in json.loads(view)["findings"]] == ["TTR308"]


@pytest.mark.parametrize(
    "words",
    [
        ("--rank-binding", "t3k_2x4_two_hosts"),
        ("--rank-binding", "t3k_2x4_two_hosts.yaml"),
        ("-m", "t3k_2x4_two_hosts", "--hosts", "a,b"),
        ("-m", "t3000", "--mock-cluster-rank-binding", "t3000"),
        ("--rank-binding", "t3k_2x4_two_hosts", "--mpi-args", "--rankfile two_hosts"),
    ],
)
def test_ready_files_have_names(
    words: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--check-only", "true"]) == Exit.OK, capsys.readouterr().err


def test_a_file_here_comes_before_a_ready_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(folder / "ranks.yaml", folder / "t3k_2x4_two_hosts")
    assert run(["--rank-binding", "t3k_2x4_two_hosts", "--print-env", "1", "true"]) == Exit.OK
    assert "(t3k_2x4_two_hosts:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "meant"),
    [(("--rank-binding", "t3k_2x4_two_host"), "t3k_2x4_two_hosts"), (("--emulate", "-m", "t300"), "t3000")],
)
def test_a_ready_file_is_proposed(
    words: tuple[str, ...], meant: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "true"]) == Exit.UNREADABLE
    assert f"did you mean {meant}, which comes with tt-run?" in capsys.readouterr().err


def test_a_script_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the system's answers are put in its place."""
    (tmp_path / "x.py").write_text("")
    closed = tmp_path / "closed" / "x.py"
    look, may = os.stat, os.access

    def stat(path: Any, **words: Any) -> os.stat_result:
        if str(path).startswith(str(closed.parent / "")):
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, **words)

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path / "x.py" and may(path, mode))
    site = dataclasses.replace(Site.current(), cwd=tmp_path)
    for word, barred in (("x.py", tmp_path / "x.py"), ("closed/x.py", closed.parent)):
        [finding] = lost_script(parse(["--emulate", "python", word]), site)
        assert finding.code == "TTR013" and finding.message == f"the script {word} may not be read"
        assert finding.help == f"ls -ld {barred} says who may"
        assert not hidden_packages(parse(["--emulate", "python", word]), site)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["python", "trian.py"], "did you mean train.py?"),
        (["python3.11", "-u", "-X", "dev", "sub/none.py"], "ls . shows what is there"),
        (["python", "examples/nano_gpt/train_nanogpt.py"], "tt-run examples nano_gpt copies it"),
        (["python", "examples/sharding.py"], "tt-run examples sharding copies it"),
        (["python", "below.py"], "did you mean deep/below.py?"),
        (["python", "train.py", "other.py"], None),
        (["python", "-m", "trian.py"], None),
        (["python", "-c", "x.py"], None),
        (["sh", "none.py"], None),
    ],
)
def test_a_script_that_is_not_here_is_told_before_the_ranks_find_out(
    tmp_path: Path, words: list[str], told: str | None
) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "below.py").write_text("")
    site = dataclasses.replace(Site.current(), cwd=tmp_path)
    found = lost_script(parse(["--emulate", *words]), site)
    assert [finding.help.startswith(told or "-") for finding in found] == [True] * bool(told)
    assert not lost_script(parse(["--emulate", "--dry-run", *words]), site)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--emulate python -I x.py", "python -I overlooks PYTHONPATH"),
        ("--emulate python3.11 -u -OE x.py", "python -OE overlooks PYTHONPATH"),
        ("--emulate python -X dev -I x.py", "python -I overlooks PYTHONPATH"),
        ("--emulate python -I -c pass", "python -I overlooks PYTHONPATH"),
        ("--emulate python -S x.py", "python -S overlooks the packages that are installed"),
        ("--emulate python -P -s x.py -I", None),
        ("--emulate python -m pytest -E", None),
        ("--emulate perl -I x.pl", None),
        ("--rank-binding r.yaml python -I x.py", None),
    ],
)
def test_python_that_would_not_find_the_emulation_is_told(line: str, told: str | None) -> None:
    found = isolated_python(parse(line.split()))
    assert [finding.message.startswith(told or "-") for finding in found] == [True] * bool(told)
    assert all(finding.code == "TTR049" for finding in found)


@pytest.mark.parametrize(
    ("line", "code", "says", "help"),
    [
        ("--hang-timeout never --rank-binding ranks.yaml true", "TTR034", "--hang-timeout never: not seconds, auto or off", "write --hang-timeout auto"),
        ("--print-env 7 --rank-binding ranks.yaml true", "TTR035", "--print-env 7: the plan has ranks 0 to 1", "--print-env 0"),
        ("--tee 0,7 --rank-binding ranks.yaml --check-only true", "TTR033", "--tee 7: the job has ranks 0 to 1", "--tee 1, or all"),
        ("--tee 1 --emulate --system n300 --check-only true", "TTR033", "--tee 1: the job has rank 0 alone", "--tee 0"),
        ("--debug-rank 7 --rank-binding ranks.yaml --check-only true", "TTR047", "there is no rank 7; the job has ranks 0 to 1", "--debug-rank 1"),
        ("--debug-rank 1 --emulate --system n300 --check-only true", "TTR047", "the job has rank 0 alone", "write --debug-rank 0"),
        ("--explain 204", "TTR037", "204 is the number of MGD204 and of TTR204", "tt-run explain TTR204"),
        ("--explain TTR2040", "TTR037", "there is no code TTR2040", "TTR204"),
        ("examples nowhere", "TTR044", "there is no example nowhere", "tt-run examples"),
        ("status yesterday", "TTR042", "there are no runs in", "--log-dir DIR"),
    ],
)  # fmt: skip
def test_what_does_not_exist_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, code: str, says: str, help: str
) -> None:
    assert run(line.split()) == Exit.USAGE
    told = capsys.readouterr().err
    assert f"error[{code}]" in told and says in told and help in told


def test_a_bug_of_ours_is_one_line_and_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(main, "parse", broken)
    assert run(["--rank-binding", "ranks.yaml", "true"]) == Exit.INTERNAL
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "error[TTR900]: a bug in tt-run: ZeroDivisionError: by nothing" and len(told) == 2
    (kept,) = folder.glob("tt-run-bug-*.txt")
    assert str(kept) in told[1]
    assert "tt-run --rank-binding ranks.yaml true" in kept.read_text() and "Traceback" in kept.read_text()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "absent"))
    assert run(["--rank-binding", "ranks.yaml", "true"]) == Exit.INTERNAL
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("error[TTR900]") and "tt-run --rank-binding ranks.yaml true" in told


@pytest.mark.parametrize(
    "line",
    [
        "--rank-binding LONG --dry-run true",
        "-m LONG --hosts a --dry-run true",
        "--mock-cluster-rank-binding LONG --dry-run true",
        "--rank-binding ranks.yaml --mpi-args '--hostfile LONG' --dry-run true",
        "--emulate --system t3000 --predict --hardware LONG --dry-run true",
        "--emulate --system t3000 --dry-run python -m /",
        "logs LONG",
        "report LONG",
        "init LONG",
    ],
)
def test_a_name_that_no_file_can_have_is_no_bug_of_ours(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    code = run(shlex.split(line.replace("LONG", 300 * "a")))
    err = capsys.readouterr().err
    assert code in (Exit.OK, Exit.USAGE, Exit.UNREADABLE, Exit.REFUSED), err
    assert "Traceback" not in err and (code == Exit.OK or "error[TT" in err)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("--rank-binding empty", "--> empty:1:1   this is an empty file"),
        ("--rank-bindings-mapping empty", "--> empty:1:1   this is an empty file"),
        ("--rank-binding ranks.yaml --mpi-args '--hostfile empty'", "--> empty:1:1"),
        ("-m mesh.textproto --no-discover --mock-cluster-rank-binding mock.yaml", "--> mesh.textproto:"),
        ("--rank-binding ranks.yaml --mock-cluster-rank-binding blank.yaml", "empty:1:1"),
    ],
)
def test_files_without_a_line_to_blame_are_pointed_at(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, place: str
) -> None:
    (folder / "empty").write_text("")
    shutil.copy(configs_root() / "mock/n300.yaml", folder / "small.yaml")
    for name, chips in (("mock.yaml", "small.yaml"), ("blank.yaml", "empty")):
        (folder / name).write_text(f"rank_to_cluster_mock_cluster_desc: {{0: {chips}, 1: {chips}}}\n")
    assert run([*shlex.split(line), "--dry-run", "true"]) != Exit.OK
    assert place in capsys.readouterr().err


def test_behind_options_a_word_is_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--emulate", "--dry-run", "statsu"]) != Exit.OK
    assert "no command statsu" not in capsys.readouterr().err


def test_a_misspelt_command_is_told_in_a_folder_with_defaults_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pyproject.toml").write_text("[tool.tt-run]\nemulate = true\n")
    assert run(["statsu"]) == Exit.USAGE
    assert "write tt-run status" in capsys.readouterr().err


def test_a_script_that_is_not_here_may_be_on_other_hosts(folder: Path) -> None:
    found = lost_script(
        parse(["--emulate", "python", "y.py"]), dataclasses.replace(Site.current(), cwd=folder)
    )
    refuse_lost_script(found, is_here=False)
    with pytest.raises(InputError) as error:
        refuse_lost_script(found, is_here=True)
    assert error.value.diagnostics[0].is_error


@pytest.mark.parametrize(
    ("modules", "help"),
    [
        ("torhc", "did you mean --warm torch?"),
        ("numpy, x,own,json", None),
        ("a;b", "name modules with commas"),
    ],
)
def test_a_module_of_warm_that_is_not_there(
    folder: Path, modules: str, help: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    found = lost_modules(parse(["--emulate", "--warm", modules, "python", "x.py"]), Site.current())
    assert [finding.help.startswith(help or "-") for finding in found] == [True] * bool(help)


@pytest.mark.parametrize(
    ("script", "is_told"), [("ttnn.py", True), ("./torch.py", True), ("types.py", True), ("x.py", False)]
)
def test_a_file_that_hides_a_package(
    folder: Path, script: str, is_told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    if is_told:
        (folder / script).write_text("import ttnn\n")
    assert run(["--emulate", "--check-only", "python", script]) == Exit.OK
    err = capsys.readouterr().err
    assert ("warning[TTR019]" in err) is is_told
    assert not is_told or "give it another name: mv " in err


@pytest.mark.parametrize(
    "line",
    [
        "--emulate --system t3000 --split 1x{}",
        "--emulate --system t3000 --inject kill=rank:{},call={}",
        "--emulate --system t3000 --inject delay=link:{}-1,for=1ms",
        "--rank-binding ranks.yaml --hosts a:{},b:1",
    ],
)
def test_a_number_without_end_is_a_wrong_number(folder: Path, line: str) -> None:
    words = [*shlex.split(line.replace("{}", "9" * 5000)), "--check-only", "true"]
    ran = subprocess.run(
        [sys.executable, "-m", "tt_run", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode in (Exit.USAGE, Exit.REFUSED), ran.stderr
    assert "error[TTR" in ran.stderr and len(ran.stderr) < 2000
