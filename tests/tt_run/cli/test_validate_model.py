"""`tt-run validate-model` from the command line: what it is given reaches the model, its exit code comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tt_run.cli.main import run
from tt_run.contract import Exit

HEAD = "kind,op,shape,dtype,arch,devices,topology,value,unit,nature,source,note"


def test_points_in_predictions_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "yaml.py").write_text("raise SystemExit('the working directory must not matter')")
    row = 'matmul,matmul trace=True,2048x2048x2048,BFLOAT16 HiFi2,WH,1 N150,"(8, 8)",299,us,measured,,'
    (tmp_path / "points.csv").write_text(f"{HEAD}\n{row}\n")
    assert run(["validate-model", "--points", "points.csv", "--format", "json"]) == Exit.OK
    assert abs(json.loads(capfd.readouterr().out)["error"]) < 0.15


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], Exit.USAGE, "give --points FILE or --calibrate FILE"),
        (["--points", "a", "--calibrate", "b"], Exit.USAGE, "give --points FILE or --calibrate FILE"),
        (
            ["--points", "empty.tsv"],
            Exit.UNREADABLE,
            "error[TTR127]: missing columns kind, op, value\n  --> empty.tsv:1:1",
        ),
        (["--points", "a", "b"], Exit.USAGE, "unexpected b"),
        (
            ["--points", "absent.tsv"],
            Exit.UNREADABLE,
            "error[TTR101]: table of measured times not found: absent.tsv\n  --> absent.tsv   no such file",
        ),
    ],
)
def test_what_is_wrong_is_said(
    words: list[str],
    code: Exit,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.tsv").write_text("")
    assert run(["validate-model", *words]) == code
    assert said in capfd.readouterr().err
