"""What it costs to look at a run: CPU time with `--timeline` and with `--record` against the same without."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tt_run.runtime.ops as ops
from tests.bench.common import Row, command, paired, summarise
from tests.bench.train_steps import our_step
from tt_run.runtime import events
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh
from tt_run.runtime.timeline.levels import Levels
from tt_run.runtime.timeline.recording import Timeline

# What is recorded, at most how much dearer it may be, how many rounds, and the machine with its cut over ranks.
RECORDED = (
    ("a loop of small sums", "small", 1.2, 25, "t3000", "1x2"),
    ("a loop of large sums", "large", 1.2, 25, "t3000", "1x2"),
    ("a tensor-parallel MLP over 2 ranks", "mlp", 1.05, 25, "n300", "1x2"),
    ("a decode step over 2 ranks", "decode", 1.05, 25, "n300", "1x2"),
    ("a training step over 2 ranks", "training", 1.1, 7, "n300", "1x2"),
    ("a training step over 4 ranks", "training-4", 1.1, 5, "t3000", "1x4"),
)


def run() -> list[Row]:
    """The timeline in this process, switched on and off in turn; records in launches of ranks which do the same."""
    return [_on_a_step(), _on_an_operation(), *(_recorded(*row) for row in RECORDED)]


def _timed(title: str, target: float, step: Callable[[], object], rounds: int) -> Row:
    """CPU time of a step with the timeline against the same without."""
    levels = Levels()

    def observed() -> None:
        leave = [levels.start(), events.keep(Timeline(0, "host", (0,), levels).keep)]
        try:
            step()
        finally:
            for each in leave:
                each()

    found = paired(observed, step, rounds, clock=time.process_time)
    return Row(title, found.ratio, target, detail=found.detail("with", "without"))


def _on_a_step() -> Row:
    return _timed("a training step with --timeline / without", 1.05, our_step(1, "bfloat16", 1), 15)


def _on_an_operation() -> Row:
    mesh = open_mesh_device(MeshShape(2, 4))
    try:
        x = from_torch(
            np.ones((1, 1, 32, 32), np.float32),
            dtype=DataType.BFLOAT16,
            layout=Layout.TILE,
            device=mesh,
            mesh_mapper=ReplicateTensorToMesh(mesh),
        )

        def adds() -> None:
            for _ in range(500):
                ops.add(x, x)

        return _timed("add of a tile with --timeline / without", 1.5, adds, 15)
    finally:
        mesh.close()


def _recorded(title: str, what: str, target: float, rounds: int, system: str, split: str) -> Row:
    """CPU time of rank 0 in rounds that are recorded, against rounds that are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        launch = ["tt-run", "--emulate", "--system", system, "--split", split]
        places = ["--log-dir", str(folder / "logs"), "--record", str(folder / "record")]
        program = [
            sys.executable,
            "-m",
            "tests.bench.record_steps",
            what,
            str(rounds),
            str(folder / "spent.json"),
        ]
        command([*launch, *places, *program], timeout=600)()
        told = json.loads((folder / "spent.json").read_text())
    found = summarise(told["pairs"])
    detail = f"{found.detail('with', 'without')}, {told['bytes'] / 1e6:.2g} MB a round"
    return Row(f"{title} with --record / without", found.ratio, target, detail=detail)
