"""What a newcomer copies: the starter project and the examples."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
from pathlib import Path

import pytest

from mgd.resources import configs_root
from tests.e2e.launch import tt_run
from tt_run.cli.commands.examples import example_names, examples_root
from tt_run.cli.main import run
from tt_run.contract import Exit


def test_the_starter_project_runs_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "first"
    assert run(["init", str(folder)]) == Exit.OK
    assert "tt-run python program.py" in capsys.readouterr().out
    ran = tt_run("python", "program.py", cwd=folder).check()
    assert ran.out.count("8 devices hold the sum") == 2
    checked = tt_run("--check-only", "--no-config", "--rank-binding", "ranks.yaml", "true", cwd=folder)
    assert checked.check().err == "tt-run: 2 ranks, no errors\n"
    assert (folder / "tt-run-logs" / ".gitignore").read_text(encoding="utf-8") == "*\n"
    compile((folder / "test_program.py").read_text(), "test_program.py", "exec")


def test_what_an_installer_compiles_is_not_part_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(configs_root() / "starter", tmp_path / "configs" / "starter")
    (tmp_path / "configs" / "starter" / "__pycache__").mkdir(exist_ok=True)
    monkeypatch.setattr("tt_run.cli.commands.init.configs_root", lambda: tmp_path / "configs")
    assert run(["init", str(tmp_path / "project")]) == Exit.OK
    assert "__pycache__" not in capsys.readouterr().out


def test_a_starter_project_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "program.py").write_text("mine")
    assert run(["init", str(tmp_path)]) == Exit.USAGE
    assert "has program.py already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


def test_every_example_is_listed_with_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert run(["examples"]) == Exit.OK
    *rows, _, _ = capsys.readouterr().out.splitlines()
    assert len(rows) >= 10
    bare = [row for row in rows if len(row.split(None, 1)[-1]) <= 20]
    assert not bare, (
        f"say in the first sentence of the docstring (or the first line of README.md) what these show: {bare}"
    )


def test_an_example_comes_with_what_it_imports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["examples", "ring_all_gather", "nano_gpt", "--to", str(tmp_path)]
    assert run(words) == Exit.OK
    out = capsys.readouterr().out
    assert f"tt-run --emulate --system t3000 python {tmp_path}/ring_all_gather.py" in out
    assert {path.name for path in tmp_path.iterdir()} == {"arrays.py", "ring_all_gather.py", "nano_gpt"}
    assert run(words) == Exit.USAGE
    told = capsys.readouterr().err
    assert "error[TTR043]" in told and "there already" in told


def test_every_example_comes_with_what_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that has the copies and nothing else of the checkout."""
    monkeypatch.chdir(tmp_path)
    for name in example_names():
        assert run(["examples", name]) == Exit.OK
        lines = [each.strip() for each in capsys.readouterr().out.splitlines() if each.startswith("  ")]
        assert lines, f"{name}: its docstring or README.md names no line that runs it"
        for line in lines:
            paths = [word for word in shlex.split(line) if word.startswith(("examples/", "configs/"))]
            assert paths and all((tmp_path / path).exists() for path in paths), line
            if line.startswith("tt-run --"):
                assert run([*shlex.split(line)[1:2], "--check-only", *shlex.split(line)[2:]]) == Exit.OK, line
                capsys.readouterr()


def test_examples_that_need_pytorch_say_so_where_it_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for found, told in ((None, True), (importlib.util.find_spec("json"), False)):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, found=found: found)
        folder = str(tmp_path / str(told))
        assert run(["examples", "matmul_all_gather_torch", "sharding", "--to", folder]) == Exit.OK
        line = "pip install torch first, for matmul_all_gather_torch\n"
        assert capsys.readouterr().out.endswith(line) is told


def test_an_unknown_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["examples", "ring_allgather"]) == Exit.USAGE
    assert "did you mean ring_all_gather?" in capsys.readouterr().err
    assert (examples_root() / "arrays.py").is_file()
