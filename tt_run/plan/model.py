"""The LaunchPlan: what will happen, as one immutable value. Dry run, JSON, table, explanation and the run are views of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mgd.diagnostics import Diagnostic, Position
from mgd.lean import dataclass, field
from tt_run.inputs.environment import EnvVar
from tt_run.inputs.hosts.lists import HostSlots
from tt_run.inputs.mpi_args import RANKFILE_POLICY

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.plan.placement.solve import Placed

__all__ = ["Default", "EnvVar", "GeneratedFile", "HostSlots", "LaunchPlan", "Placement", "RankPlan"]


@dataclass(frozen=True, slots=True)
class RankPlan:
    """One MPI rank: where it runs, which devices it owns, what it sees and what it executes.

    `devices` are (row, column) mesh coordinates of the block it owns, empty when no descriptor was read. `why` says why an
    allocated rank went where it is; empty when an input says so itself.
    """

    rank: int
    argv: tuple[str, ...]
    env: Mapping[str, EnvVar]
    mesh_id: int
    mesh_host_rank: int | None = None
    host: str | None = None
    slot: str | None = None
    devices: tuple[tuple[int, int], ...] = ()
    subcontext_id: int | None = None
    position: Position | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where ranks go: hosts in order with their slots, the rankfile if there is one, and which input said so.

    `source` is text for people: "rankfile hosts.txt", "--hosts", "Slurm allocation", "this machine".
    """

    hosts: tuple[HostSlots, ...] = ()
    rankfile: Path | None = None
    rankfile_copy: str = ""  # its lines as every Open MPI reads them
    rankfile_trouble: str = (
        ""  # why the launcher must be given that copy; empty when the user's own file will do
    )
    rankfile_policy: tuple[str, str] = RANKFILE_POLICY
    rankfile_at: int = 0  # how many of the user's words stood before it
    source: str = "this machine"
    hostfile: Path | None = None  # to be named to the launcher, which alone can count the slots of its hosts

    @property
    def is_multi_host(self) -> bool:
        return len(self.hosts) > 1


@dataclass(frozen=True, slots=True)
class Default:
    """A word that tt-run adds by itself to the launcher's line, and why; told on one line and shown in the dry run."""

    words: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A file that the plan needs and that does not exist yet: written just before the launch, named by a dry run.

    Its name holds a hash of its text, so an existing file of that name is the right one.
    """

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """Everything that a launch will do. Pure data: building it starts nothing and writes nothing."""

    ranks: tuple[RankPlan, ...]
    program: tuple[str, ...]
    cwd: Path
    placement: Placement = Placement()
    mpi_args: tuple[str, ...] = ()  # the user's own words, kept apart from defaults
    defaults: tuple[Default, ...] = ()
    unset: tuple[str, ...] = ()  # variables of the parent that no rank may see unless the plan gives them
    inherited: Mapping[str, EnvVar] = field(
        default_factory=dict
    )  # of the launching shell, for every rank that has no value of its own
    is_exact: bool = False  # whether ranks see nothing else of the machine that they run on
    findings: tuple[Diagnostic, ...] = ()
    emulate: bool = False
    generated_files: tuple[GeneratedFile, ...] = ()
    placed: Placed | None = None  # which chip each device sits on, where machines were described
    folders: tuple[Path, ...] = ()  # made just before the launch: where the ranks' profiles go
    launcher_env: Mapping[str, str] = field(
        default_factory=dict
    )  # what mpirun itself gets on top, e.g. the root guard
