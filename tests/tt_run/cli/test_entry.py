"""Ctrl-C before a launch has begun."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.runtime.mpi import ROOT

# In the callback of a weak reference, as those of an import's lock, Python loses the exception that it makes of SIGINT.
PROGRAM = """
import os, signal, sys, weakref
signal.signal(signal.SIGINT, signal.{handler})
class Thing: pass
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            thing = Thing()
            watched = weakref.ref(thing, lambda _: (os.kill(os.getpid(), signal.SIGINT), None))
            del thing
sys.meta_path.insert(0, Finder())
sys.argv = ["tt-run", "--emulate", "--system", "t3000", "--split", "1x2", "--dry-run", "python", "-c", "pass"]
from tt_run.cli.entry import main
main()
"""


@pytest.mark.parametrize(
    ("handler", "module", "code"),
    [
        ("default_int_handler", "tt_run.cli.main", -signal.SIGINT),
        ("default_int_handler", "tt_run.cli.launch", -signal.SIGINT),
        ("SIG_IGN", "tt_run.cli.launch", 0),  # as under nohup
    ],
)
def test_ctrl_c_is_not_lost_while_modules_are_loaded(handler: str, module: str, code: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(handler=handler, module=module)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == code
    assert "Traceback" not in ran.stderr and "ignored" not in ran.stderr
