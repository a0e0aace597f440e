"""A rank whose interpreter a call in C keeps is found by its signal handler; nobody without one is sent the signal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.jobs import until
from tt_run import contract
from tt_run.runtime.guard.blocked_interpreter import place_in, seized_place

# PyDLL keeps the interpreter during the call, as some calls of mpi4py do.
PROGRAM = """
import ctypes, faulthandler, os, signal, sys, threading
def step():
    while True: ctypes.PyDLL(None).sleep(60)  # here
out = open(sys.argv[1], "a")
if sys.argv[2] == "yes":
    faulthandler.register(signal.SIGUSR1, file=out, all_threads=True, chain=False)
out.write(f"# registered pid={os.getpid()}\\n")
out.flush()
threading.Thread(target=threading.Event().wait, daemon=True).start()
step()
"""


@pytest.mark.parametrize("registered", ["yes", "no"])
def test_where_a_seized_interpreter_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registered: str
) -> None:
    program, stacks = tmp_path / "program.py", tmp_path / contract.STACKS_FILE.format(rank=3)
    program.write_text(PROGRAM)
    process = subprocess.Popen([sys.executable, str(program), str(stacks), registered])
    try:
        until(lambda: stacks.exists() and stacks.read_text().endswith("\n"))
        monkeypatch.setenv(contract.RUN_DIR, str(tmp_path))
        line = PROGRAM.splitlines().index("    while True: ctypes.PyDLL(None).sleep(60)  # here") + 1
        if registered == "yes":  # once it has come to that line
            until(lambda: seized_place(3, process.pid) == f"{program}:{line} in step")
        else:
            assert seized_place(3, process.pid) == ""
        assert process.poll() is None
        assert seized_place(3, os.getpid()) == ""  # another process than the file's
    finally:
        process.kill()
        process.wait()


def test_lines_of_libraries_are_left_out() -> None:
    dump = (
        'Thread 0x1 (most recent call first):\n  File "/x/a.py", line 1 in t\n\n'
        'Current thread 0x2 (most recent call first):\n  File "/v/site-packages/m.py", line 9 in w\n'
        '  File "/u/train.py", line 7 in step\n  File "/u/train.py", line 20 in <module>\n'
    )
    assert place_in(dump) == "/u/train.py:7 in step"
    assert place_in("") == ""
