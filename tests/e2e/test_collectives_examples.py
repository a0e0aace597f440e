"""The documents' programs, run as the README runs them, on 1, 2 and 4 ranks: each asserts its result and prints the same hash.

One rank of some has PyTorch where it is installed, the others have none: the hash does not depend on that either.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.e2e.launch import ROOT, tt_run

T3000 = ("--system", "t3000", "--split")
N300 = ("--system", "n300", "--split")
BINDINGS = "configs/bindings"

# Example -> launches on 1, 2 and 4 ranks.
LAUNCHES = {
    "ring_all_gather": [(*T3000, "1x1"), (*T3000, "1x2"), (*T3000, "2x2")],
    "line_all_gather": [(*T3000, "1x1"), (*T3000, "2x1"), (*T3000, "2x2")],
    "sharding": [(*N300, "1x1"), (*N300, "1x2"), (*T3000, "2x2")],
    "data_parallel_mlp": [(*T3000, "1x1"), (*T3000, "1x2"), (*T3000, "1x4")],
    "matmul_all_gather": [(*N300, "1x1"), (*N300, "1x2"), (*T3000, "1x4")],
    "hybrid_parallel_trace": [(*T3000, "1x1"), (*T3000, "1x2"), (*T3000, "2x2")],
    "pipeline_sockets": [
        (*T3000, "1x1"),
        ("--rank-binding", f"{BINDINGS}/t3k_2x2_two_meshes.yaml"),
        ("--rank-binding", f"{BINDINGS}/t3k_1x2_four_meshes.yaml"),
    ],
}

# Its import takes longer than all else that these do; what they ask of it is the same in all.
WITH_TORCH = ("sharding", "data_parallel_mlp")


@pytest.mark.wide
@pytest.mark.parametrize("example", LAUNCHES)
def test_example_gives_the_same_bits_on_1_2_and_4_ranks(example: str) -> None:
    found = []
    for words in LAUNCHES[example]:
        small = ["--hidden", "256"] if example == "data_parallel_mlp" else []
        ran = tt_run(
            *("--emulate", "--no-prefix", *words, "python", f"examples/{example}.py", *small),
            timeout=100,
            torch=not found and example in WITH_TORCH,
        )
        lines = {line for line in ran.check().out.splitlines() if "sha256" in line}
        assert lines, ran.out + ran.err
        found.append(lines)
    assert found[0] == found[1] == found[2]


@pytest.mark.wide
@pytest.mark.torch
def test_the_twin_in_pytorch_agrees_with_numpy() -> None:
    pytest.importorskip("torch")
    command = [sys.executable, str(ROOT / "examples" / "matmul_all_gather_torch.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "one device holds (1, 1, 128, 256)" in done.stdout
