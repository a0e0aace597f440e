"""Running `mgd` in this process, and what came of it."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass

import pytest

from mgd.cli.main import main


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


class Mgd:
    """`mgd("check", "x.textproto", stdin="…")` as a shell would do it."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch

    def __call__(self, *words: object, stdin: str | bytes = b"") -> Result:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err
        return Result(int(ended.value.code or 0), captured.out, captured.err)
