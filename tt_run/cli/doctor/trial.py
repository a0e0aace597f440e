"""A trial of MPI: ranks that meet, and one of them that writes down who came.

Rank 0 learns it by messages and writes a file. What ranks print is not looked at: mpirun passes it on in pieces, those of several ranks and
its own mixed, and Open MPI 4 does so in the middle of a line.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

from mgd.lean import dataclass
from tt_run.launch.agent import Answer, answer
from tt_run.launch.line import build_line
from tt_run.launch.machine import Machine
from tt_run.launch.mpirun import Launcher
from tt_run.launch.options import LaunchOptions
from tt_run.plan.model import LaunchPlan

_PROGRAM = """
import json, os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
names = world.gather(MPI.Get_processor_name())
if world.rank == 0:
    found = {"sum": world.allreduce(1), "names": names, "library": MPI.Get_library_version().split(",")[0]}
    with open(sys.argv[1] + ".part", "w") as stream:
        json.dump(found, stream)
    os.replace(sys.argv[1] + ".part", sys.argv[1])
else:
    world.allreduce(1)
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of it: how many ranks have met, where, under which MPI; and what mpirun said."""

    ranks: int
    names: tuple[str, ...]
    library: str
    said: Answer
    command: tuple[str, ...]


def program(python: str, record: Path) -> tuple[str, ...]:
    """The words of a trial's ranks; rank 0 writes `record`, which it must share with this machine."""
    return (python or sys.executable, "-c", _PROGRAM, str(record))


def try_out(
    plan: LaunchPlan,
    launcher: Launcher,
    machine: Machine,
    options: LaunchOptions,
    record: Path,
    seconds: float,
) -> Trial:
    """Starts the ranks of the plan with the words that a launch uses, and reads what rank 0 has written."""
    line = build_line(plan, launcher, machine, options, plan.cwd, plan.program)
    said = answer(line.command, seconds, {**machine.environ, **line.environment})
    found: dict[str, object] = {}
    with suppress(OSError, ValueError):
        found = json.loads(record.read_text(encoding="utf-8"))
    with suppress(OSError):
        record.unlink()
    names = found.get("names")
    return Trial(
        int(str(found.get("sum", 0))),
        tuple(map(str, names)) if isinstance(names, list) else (),
        str(found.get("library", "")),
        said,
        line.command,
    )
