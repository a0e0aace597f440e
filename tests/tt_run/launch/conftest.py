"""Plans by hand, and ranks started without MPI: the wrapper only needs two variables."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tt_run.launch.wrapper import wrapper_words, write_wrapper
from tt_run.plan.model import EnvVar, LaunchPlan, Placement, RankPlan
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.status import RankStatus, parse_status

DEADLINE = 20
THIS_MACHINE = Placement()


def rank_plan(
    rank: int, argv: Sequence[str], env: Mapping[str, str] | None = None, **fields: object
) -> RankPlan:
    variables = {name: EnvVar(value, "test") for name, value in (env or {}).items()}
    return RankPlan(rank, tuple(argv), variables, mesh_id=0, **fields)  # type: ignore[arg-type]


def plan_of(
    *argvs: Sequence[str],
    env: Mapping[str, str] | None = None,
    cwd: Path = Path("/"),
    unset: Sequence[str] = (),
    mpi_args: Sequence[str] = (),
    placement: Placement = THIS_MACHINE,
) -> LaunchPlan:
    """A plan with one rank per argument vector, all with the same environment."""
    ranks = tuple(rank_plan(number, argv, env) for number, argv in enumerate(argvs))
    return LaunchPlan(
        ranks, tuple(argvs[0]), cwd, placement=placement, unset=tuple(unset), mpi_args=tuple(mpi_args)
    )


class WrappedRank:
    """Starts the wrapper as mpirun does and reads what it leaves."""

    def __init__(self, folder: Path) -> None:
        self.folder = RunFolder(folder)

    def environment(self, rank: int, size: int, parent: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {"PATH": os.environ["PATH"], **(parent or {})}
        return {**kept, "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size)}

    def run(
        self,
        plan: LaunchPlan,
        rank: int = 0,
        parent: Mapping[str, str] | None = None,
        detached: bool = False,
    ) -> subprocess.CompletedProcess[bytes]:
        write_wrapper(plan, self.folder.path)
        size = len(plan.ranks)
        return subprocess.run(
            wrapper_words(self.folder.path, size),
            env=self.environment(rank, size, parent),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE,
            start_new_session=detached,
        )

    def status(self, rank: int = 0) -> RankStatus:
        return parse_status(rank, self.folder.status(rank).read_text())

    def out(self, rank: int = 0) -> bytes:
        return self.folder.out(rank).read_bytes()

    def err(self, rank: int = 0) -> str:
        return self.folder.err(rank).read_text(errors="replace")


@pytest.fixture
def wrapped(tmp_path: Path) -> WrappedRank:
    return WrappedRank(tmp_path / "run")


@pytest.fixture
def executable(tmp_path: Path) -> Callable[[str], Path]:
    """Makes an executable file of a given path below the test's folder."""

    def make(name: str, text: str = "#!/bin/sh\nexit 0\n") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    return make
