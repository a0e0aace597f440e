"""What `tt-run` costs on top of the mpirun line that it runs, and against other launchers.

Programs sleep a little: ranks that end at once race with mpirun's own bookkeeping.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench.common import Paired, Row, command, paired, skipped

ROUNDS = 7
BARRIER = "import numpy\nfrom mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n"
GLOO = "import torch.distributed as d\nd.init_process_group('gloo')\nd.barrier()\nd.destroy_process_group()\n"
ROOT_GUARD = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# What tt-run adds on one host; see tt_run/launch/defaults.py.
OUR_LINE = (
    "mpirun",
    "--bind-to",
    "none",
    "--mca",
    "pml",
    "ob1",
    "--mca",
    "btl",
    "self,sm",
    "--mca",
    "osc",
    "^ucx",
)
NO_OP = ("sleep", "0.1")


def run() -> list[Row]:
    """The rows of `scripts/bench launch`."""
    with tempfile.TemporaryDirectory(prefix="tt-run-bench-") as folder:
        launches = Launches(Path(folder))
        rows = [launches.over_its_own_line()]
        rows += [launches.over_plain_mpirun(2, 150.0), launches.over_plain_mpirun(8, 250.0)]
        rows += [
            help_against_python(),
            launches.barrier_against_default_mpirun(),
            launches.barrier_against_torchrun(),
        ]
        return [*rows, launches.many_ranks(32, 1.5), launches.many_ranks(64, 1.3), launches.warm_ranks()]


class Launches:
    """Commands that start the same program in different ways, in a scratch folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.barrier = folder / "barrier.py"
        self.barrier.write_text(BARRIER)
        self.gloo = folder / "gloo.py"
        self.gloo.write_text(GLOO)
        for ranks in (2, 8, 32, 64):
            self._binding(ranks)

    def _binding(self, ranks: int) -> None:
        descriptor = self.folder / f"mesh{ranks}.textproto"
        descriptor.write_text(
            f'mesh_descriptors {{ name: "M0" arch: WORMHOLE_B0 device_topology {{ dims: [1, {ranks}] }} '
            f"host_topology {{ dims: [1, {ranks}] }} channels {{ count: 1 }} }}\n"
            'top_level_instance { mesh { mesh_descriptor: "M0" mesh_id: 0 } }\n'
        )
        entries = "".join(f"  - {{rank: {n}, mesh_id: 0, mesh_host_rank: {n}}}\n" for n in range(ranks))
        text = f"rank_bindings:\n{entries}mesh_graph_desc_path: {descriptor}\n"
        (self.folder / f"ranks{ranks}.yaml").write_text(text)

    def tt_run(self, ranks: int, *program: str, options: Sequence[str] = ()) -> Callable[[], None]:
        """`tt-run` with its checks and defaults; each call has a run folder of its own."""

        def call() -> None:
            self.count += 1
            words = ["tt-run", "--rank-binding", str(self.folder / f"ranks{ranks}.yaml")]
            words += ["--log-dir", str(self.folder / f"run{self.count}"), *options, *program]
            command(words)()

        return call

    def over_its_own_line(self) -> Row:
        ours = self.tt_run(2, *NO_OP)
        line = command([*OUR_LINE, "--oversubscribe", "-np", "2", *NO_OP], env=ROOT_GUARD)
        return added("tt-run adds to the mpirun line it runs, n=2 (ms)", paired(ours, line, ROUNDS), 80.0)

    def over_plain_mpirun(self, ranks: int, limit: float) -> Row:
        ours = self.tt_run(ranks, *NO_OP)
        plain = command(["mpirun", "--oversubscribe", "-np", str(ranks), *NO_OP], env=ROOT_GUARD)
        return added(f"tt-run over a plain mpirun, n={ranks} (ms)", paired(ours, plain, ROUNDS), limit)

    def barrier_against_default_mpirun(self) -> Row:
        program = (sys.executable, str(self.barrier))
        plain = command(["mpirun", "--oversubscribe", "-np", "2", *program], env=ROOT_GUARD)
        found = paired(self.tt_run(2, *program), plain, ROUNDS)
        return Row(
            "mpi4py + numpy barrier / default mpirun",
            found.ratio,
            0.4,
            detail=found.detail("tt-run", "mpirun"),
        )

    def barrier_against_torchrun(self) -> Row:
        name = "mpi4py + numpy barrier / torchrun gloo"
        if importlib.util.find_spec("torch") is None:
            return skipped(name, 0.15, "torch is not installed")
        torchrun = command(
            [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(self.gloo)]
        )
        found = paired(self.tt_run(2, sys.executable, str(self.barrier)), torchrun, 5)
        return Row(name, found.ratio, 0.15, detail=found.detail("tt-run", "torchrun"))

    def many_ranks(self, ranks: int, limit: float) -> Row:
        program = ("sleep", "0.5")
        plain = command(["mpirun", "--oversubscribe", "-np", str(ranks), *program], env=ROOT_GUARD)
        found = paired(self.tt_run(ranks, *program), plain, 5)
        name = f"{ranks} ranks of sleep 0.5 / plain mpirun"
        return Row(name, found.ratio, limit, detail=found.detail("tt-run", "mpirun"))

    def warm_ranks(self) -> Row:
        """Eight ranks that import PyTorch: forked from one process, against each started by itself."""
        name = "8 ranks that import PyTorch: forked / started"
        if importlib.util.find_spec("torch") is None:
            return skipped(name, 0.5, "torch is not installed")
        program = (sys.executable, "-c", "import os, torch; os._exit(0)")
        found = paired(self.tt_run(8, *program), self.tt_run(8, *program, options=("--no-warm",)), 3)
        return Row(name, found.ratio, 0.5, detail=found.detail("forked", "started"))


def added(name: str, found: Paired, limit: float) -> Row:
    """A row in milliseconds: the median of the differences of the pairs."""
    return Row(name, found.difference * 1e3, limit, detail=found.detail("tt-run", "mpirun"))


def help_against_python() -> Row:
    """The help text against a Python that does nothing."""
    found = paired(command(["tt-run", "--help"]), command([sys.executable, "-c", "pass"]), ROUNDS)
    return Row("tt-run --help / python -c pass", found.ratio, 4.0, detail=found.detail("help", "python"))


if __name__ == "__main__":
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for row in run():
        print(
            f"{'ok  ' if row.met else 'MISS'} {row.name}: {row.ratio:.2f} (target {row.target})  {row.detail}"
        )
