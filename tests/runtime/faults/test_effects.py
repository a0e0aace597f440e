"""What faults do to the process that has them, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

from tt_run.faults import SPOILING
from tt_run.runtime.faults.effects import SPOILERS

SLOW = """
import sys, time
from tt_run.runtime.faults.effects import slow_disk
print("before")
slow_disk(0.02)
begun = time.monotonic()
for _ in range(5):
    print("after", flush=True)
print(time.monotonic() - begun >= 0.1)
"""


def test_a_slow_disk_loses_nothing() -> None:
    ran = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.splitlines() == ["before", *["after"] * 5, "True"]


def test_each_fault_that_spoils_a_tensor_says_how() -> None:
    assert set(SPOILERS) == set(SPOILING), "SPOILERS of tt_run/runtime/faults/effects.py says what each does"
