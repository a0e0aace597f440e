"""Runs the program on its two ranks, without hardware: `pytest`."""

import subprocess
from pathlib import Path


def test_every_device_has_the_sum() -> None:
    here = Path(__file__).parent
    ran = subprocess.run(
        ["tt-run", "python", "program.py"], cwd=here, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("8 devices hold the sum") == 2
