"""The examples with values and without: the same tensors, events, bytes and errors, call by call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.launch import WITHOUT_TORCH
from tests.runtime.mpi import ROOT, SHIMS

pytest.importorskip("torch")

EXAMPLES = ROOT / "examples"
NANO = "nano_gpt/train_nanogpt.py --max_steps 1 --max_new_tokens 3 --sequence_length 64 -w 0 -c"
LLAMA = "what_if/llama_70b.py --values --layers 2 --hidden 256 --heads 8 --head-dim 64 --ffn 1024 --vocab 1024 --context 64 --parallel"
# Those of what_if/ need PyTorch; the others run without it, which takes half the time.
PROGRAMS = [
    ("t3000", "ring_all_gather.py"),
    ("t3000", "line_all_gather.py"),
    ("t3000", "data_parallel_mlp.py"),
    ("t3000", "tensor_parallel_mlp.py --hidden 512"),
    ("t3000", "hybrid_parallel_trace.py"),
    ("t3000", "matmul_all_gather.py"),
    ("t3000", "sharding.py"),
    ("galaxy", f"{LLAMA} tp8dp4"),
    ("galaxy", f"{LLAMA} tp32"),
    ("t3000", "linear_regression/linear_regression_tp_dp.py"),
]
TRAININGS = [
    ("n150", f"{NANO} tiny.yaml"),
    ("loudbox", f"{NANO} tiny_tp.yaml"),
    ("t3000", "linear_regression/linear_regression.py"),
    ("t3000", "training/fsdp_llama.py"),
    ("t3000", "training/digits.py"),
    ("t3000", "training/transformers.py"),
    ("n150", "training/qwen3_tiny.py"),
    ("n150", "training/nanogpt_primitives.py"),
]
# What runs through much of the library in the least time; the others are the documents' examples.
QUICK = ("matmul_all_gather.py",)
CASES = [
    *(
        pytest.param(system, words, marks=() if words in QUICK else pytest.mark.wide)
        for system, words in PROGRAMS
    ),
    *(pytest.param(system, words, marks=pytest.mark.slow) for system, words in TRAININGS),
]


def _name(words: str) -> str:
    program, *rest = words.split()
    return Path(program if rest[:1] == ["--hidden"] else [program, *rest][-1]).stem


NAMES = [_name(words) for _, words in (*PROGRAMS, *TRAININGS)]


@pytest.mark.parametrize(("system", "words"), CASES, ids=NAMES)
def test_a_program_does_the_same_without_values(system: str, words: str, tmp_path: Path) -> None:
    """Both at once: each is a process of its own."""
    running = {mode: _start(system, words, tmp_path, mode) for mode in ("off", "on")}
    ended = {mode: process.communicate(timeout=120)[0] for mode, process in running.items()}
    lines = {}
    for mode, process in running.items():
        assert process.returncode == 0, f"{mode}: {ended[mode]}"
        lines[mode] = (tmp_path / mode).read_text().splitlines()
    assert len(lines["off"]) > 3
    for number, (with_values, in_shapes) in enumerate(zip(lines["off"], lines["on"], strict=False)):
        assert json.loads(in_shapes) == json.loads(with_values), f"line {number}"
    assert len(lines["on"]) == len(lines["off"])


def _start(system: str, words: str, folder: Path, mode: str) -> subprocess.Popen[str]:
    program, *arguments = words.split()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            [*([] if program.startswith("what_if/") else [WITHOUT_TORCH]), str(SHIMS), str(ROOT)]
        ),
        "OMP_NUM_THREADS": "1",
        "TT_RUN_SYSTEM": system,
        "TT_RUN_SHAPES_ONLY": mode,
    }
    command = [sys.executable, "-m", "tests.runtime.shapes.both_ways", str(folder / mode)]
    return subprocess.Popen(
        [*command, str(EXAMPLES / program), *arguments],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
