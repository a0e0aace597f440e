"""Model programs run as they stand: PyTorch's values on one rank, and the same bits over several."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.mpi import ROOT, mpirun, run_ranks
from tests.sweep import sweep

pytest.importorskip("torch")

FOLDER = Path(__file__).parent
PROGRAMS = [
    "decoder_row.py",
    "galaxy_decode.py",
    "image_encoder.py",
    "image_pipeline.py",
    "joint_block.py",
    "latent_experts.py",
]

pytestmark = pytest.mark.timeout(180)


def outcome(text: str) -> tuple[float, str]:
    """The worst correlation and the digest of a program's last line."""
    word, worst, bits = text.splitlines()[-1].split()
    assert word == "worst"
    return float(worst), bits


def alone(program: str) -> tuple[float, str]:
    done = subprocess.run(
        ["timeout", "-k", "5", "90", sys.executable, "-m", "tt_run.emulate", "--system", "t3k", FOLDER / program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return outcome(done.stdout)


@pytest.mark.parametrize("program", sweep(PROGRAMS))
def test_a_program_has_the_values_of_pytorch(program: str) -> None:
    assert alone(program)[0] > 0.999


@pytest.mark.wide
@pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")
@pytest.mark.parametrize("program", PROGRAMS)
def test_two_ranks_give_the_bits_of_one(program: str) -> None:
    descriptor = str(ROOT / "configs" / "mgd" / "t3k_2x4_two_hosts.textproto")
    result = run_ranks(
        2, FOLDER / program, env={"TT_MESH_GRAPH_DESC_PATH": descriptor}, timeout=90, torch=True
    ).check()
    found = [outcome(rank.stdout) for rank in result.ranks]
    # PyTorch's own product, which the correlation is with, may take another number of threads.
    assert {bits for _, bits in found} == {alone(program)[1]}
    assert min(worst for worst, _ in found) > 0.999
