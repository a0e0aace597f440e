"""What is pasted into a shell does there what the line says."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.tt_run.launch.conftest import DEADLINE, plan_of
from tests.tt_run.launch.test_line import GOOD, launcher, mpmd, rankfile_plan
from tt_run.launch.line import build_mpmd_line
from tt_run.launch.machine import Machine
from tt_run.launch.options import LaunchOptions


def test_a_corrected_rankfile_is_written_by_the_first_pasted_line(tmp_path: Path) -> None:
    plan = rankfile_plan(tmp_path, GOOD.replace("\n", "\r\n"))
    made = build_mpmd_line(plan, launcher(), Machine(cores=8), LaunchOptions(), tmp_path / "new")
    first, second = made.shell_lines()
    subprocess.run(["sh", "-c", first], check=True, timeout=DEADLINE)
    assert (tmp_path / "new/rankfile").read_text() == GOOD
    assert "rankfile:file=new/rankfile" in second


def test_the_pasted_line_survives_a_shell() -> None:
    words = ("printf", "a b", "$x", "it's", "", "*")
    text = mpmd(plan_of(words, env={"V": "one\ntwo 'three'"})).shell_lines()[-1]
    printed = subprocess.run(
        ["sh", "-c", f"mpirun() {{ printf '%s\\0' \"$@\"; }}; {text}"], capture_output=True, timeout=DEADLINE
    )
    assert tuple(printed.stdout.decode().split("\0")[:-1])[-len(words) :] == words
    assert "V=one\ntwo 'three'" in printed.stdout.decode().split("\0")
