"""Which file a record names as its program."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tt_run.runtime.record import process
from tt_run.runtime.record.process import _program


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["train.py", "a"], "train.py"),
        (["-u", "train.py"], "train.py"),
        (["-m", "model.run"], "model/run.py"),
        (["-m", "model"], "model/__main__.py"),
        (["-c", "pass"], None),
        (["-m", "absent"], None),
        ([], None),
    ],
)
def test_the_program_is_the_first_file_or_the_module(
    tmp_path: Path, words: list[str], file: str | None
) -> None:
    (tmp_path / "model").mkdir()
    for name in ("train.py", "model/run.py", "model/__main__.py"):
        (tmp_path / name).write_text(f"# {name}")
    found = _program(["python", *words], str(tmp_path))
    if file is None:
        assert found == {}
        return
    assert found == {"path": str(tmp_path / file), "sha256": hashlib.sha256(f"# {file}".encode()).hexdigest()}


def test_each_program_of_a_rank_has_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("rank-0003.record", "rank-0003.2.record", "rank-0003.3.record"):
        process._new_file(tmp_path, 3).close()
        assert (tmp_path / name).exists()
    assert len(list(tmp_path.iterdir())) == 3
    monkeypatch.setenv("TT_RUN_RECORD_LIMIT", "12 GB")
    with pytest.raises(RuntimeError, match="TT_RUN_RECORD_LIMIT='12 GB' is no number of bytes"):
        process._new_file(tmp_path, 3)
    monkeypatch.delenv("TT_RUN_RECORD_LIMIT")
    with pytest.raises(
        RuntimeError, match=r"rank 4 cannot write its record (.|\n)*help: name another folder with --record"
    ):
        process._new_file(tmp_path / ("x" * 300), 4)
