"""A training step of NanoGPT and of a Llama (6 layers, 6 heads, width 384, 4 x 128 tokens, 10 million parameters) next to torch on the same cores.

Ratios of steps are CPU time, alternated in one process on one thread; rates over two ranks are wall time and need two free cores.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.common import Row, skipped, summarise
from tt_run import contract

ROUNDS = 7
MODELS = {"nanogpt": "NanoGPT", "llama": "Llama"}
NO_TORCH = "PyTorch is not installed"
LIMITS = {
    "step": "torch computes in float32; here every result is rounded to bfloat16 in a pass of its own, by torch, which is loaded, and packed until it is read again",
}
"""What keeps a row in bfloat16 from its target."""


def run() -> list[Row]:
    """All rows; those next to torch are skipped without it."""
    return [
        *(_step(kind, arithmetic) for kind in MODELS for arithmetic in ("float32", "bfloat16")),
        _devices(),
        _ranks(),
        _many_ranks(),
        *(_memory(kind, arithmetic) for kind in MODELS for arithmetic in ("float32", "bfloat16")),
    ]


def _child(words: list[str], system: str) -> list[str]:
    """The lines that a benchmark program prints, on one BLAS thread for each process."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", contract.SYSTEM: system, contract.DENSE_MEMORY: ""}
    env.pop(contract.MESH_GRAPH_DESC_PATH, None)
    ran = subprocess.run(
        ["timeout", "-k", "5", "300", *words],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return ran.stdout.splitlines()


def _program(what: str, rounds: int = ROUNDS, system: str = "n150") -> dict[str, Any]:
    lines = _child([sys.executable, "-m", "tests.bench.train_steps", what, str(rounds)], system)
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _step(kind: str, arithmetic: str) -> Row:
    name, target = f"{MODELS[kind]} step, {arithmetic} / torch eager, 1 thread", 1.3
    if importlib.util.find_spec("torch") is None:
        return skipped(name, target, NO_TORCH)
    found = summarise(_program(f"step-{kind}-{arithmetic}")["pairs"])
    limit = f"; {LIMITS['step']}" if arithmetic == "bfloat16" else ""
    return Row(name, found.ratio, target, detail=found.detail("ours", "torch") + limit)


def _devices() -> Row:
    found = summarise(_program("ddp8", system="loudbox")["pairs"])
    return Row(
        "DDP over 8 devices in a process / one device, batch 8",
        found.ratio,
        1.1,
        detail=found.detail("8", "1"),
    )


def _ranks() -> Row:
    """Two ranks of one device each, and two processes of torch DDP, in turn."""
    name, target = "DDP over 2 ranks / torch DDP gloo over 2 processes, tokens/s", 0.75
    if importlib.util.find_spec("torch") is None:
        return skipped(name, target, NO_TORCH, at_most=False)
    logs = Path(tempfile.mkdtemp(prefix="bench-train-"))
    words = [sys.executable, "-m", "tests.bench.train_steps", "ranks", "5"]
    pairs = []
    for turn in range(3):
        launch = [
            "tt-run",
            "--emulate",
            "--system",
            "n300",
            "--split",
            "1x2",
            "--log-dir",
            str(logs / f"run{turn}"),
        ]
        ours = [
            float(line.split("rate ")[1]) for line in _child([*launch, *words], "n300") if "rate " in line
        ]
        pairs.append((min(ours), float(_program("gloo", 5)["rate"])))
    ratio = statistics.median(a / b for a, b in pairs)
    best = (max(rate) for rate in zip(*pairs, strict=True))
    return Row(name, ratio, target, at_most=False, detail="best {:.0f} and {:.0f} tokens/s".format(*best))


def _many_ranks() -> Row:
    """A small step over the 32 devices of a Galaxy: each in a rank of its own, and all in one, in turn."""
    logs = Path(tempfile.mkdtemp(prefix="bench-train-"))
    pairs = []
    for turn in range(3):
        times = []
        for split in ("8x4", "1x1"):
            words = ["--split", split, "--log-dir", str(logs / f"run{turn}-{split}")]
            launch = ["tt-run", "--emulate", "--system", "galaxy", *words]
            lines = _child(
                [*launch, sys.executable, "-m", "tests.bench.train_steps", "layers", "8"], "galaxy"
            )
            times.append(max(float(line.split("seconds ")[1]) for line in lines if "seconds " in line))
        pairs.append((times[0], times[1]))
    found = summarise(pairs)
    each = f"every rank runs the Python of the whole step, {32 // (os.cpu_count() or 1)} of them on each core"
    detail = f"{found.detail('32', '1')}; {each}"
    return Row("small step over 32 ranks / all devices in one", found.ratio, 2.0, detail=detail)


def _memory(kind: str, arithmetic: str) -> Row:
    found = _program(f"memory-{kind}-{arithmetic}")
    return Row(
        f"{MODELS[kind]}, {arithmetic}: peak memory of a step / what MemoryUsageTracker reports",
        found["real"] / found["tracked"],
        1.2,
        detail=f"{found['real'] / 2**20:.0f} MiB, tracker {found['tracked'] / 2**20:.0f} MiB, without torch",
    )
