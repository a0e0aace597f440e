"""Everything the command line says about a launch, as one value."""

from __future__ import annotations

from enum import Enum

from mgd.lean import dataclass


class CheckLevel(Enum):
    """What the joint check does with errors: refuse, tell, or not look."""

    ERROR = "error"
    WARN = "warn"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class RankOption:
    """An option of emulated ranks: its name, the variable in which they find it, and its value; a file is taken from the launch directory."""

    option: str
    variable: str
    value: str
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """One launch as asked for (reference launcher 0.81.1). Paths and lists are as typed; None is "not given".

    Exactly one of `rank_binding`, `rank_bindings_mapping`, `mesh_graph_descriptor`, `mesh_graph_descriptor_mapping` and
    `system` names what to launch; under emulation none of them has to. `split` is "ROWSxCOLUMNS" hosts for each mesh, `meshes` how many copies of the system.
    `of_ranks` only emulated ranks can follow.
    """

    program: tuple[str, ...] = ()
    rank_binding: str | None = None
    rank_bindings_mapping: str | None = None
    mesh_graph_descriptor: str | None = None
    mesh_graph_descriptor_mapping: str | None = None
    system: str | None = None
    split: str | None = None
    meshes: int | None = None
    emulate: bool = False
    hosts: str | None = None
    mpi_args: str = ""
    mock_cluster_rank_binding: str | None = None
    factory_system_descriptor: str | None = None
    skip_executable_check: bool = False
    skip_mgd_check: bool = False
    bare: bool = False
    tcp_interface: str | None = None
    rankfile_syntax: str = "auto"
    debug_gdbserver: bool = False
    tracy: str | None = None
    no_scheduler: bool = False
    clean_env: bool = False
    inherit_env: bool = False
    rank_pinning_file: str | None = None
    placement_timeout: float | None = None
    check: CheckLevel = CheckLevel.ERROR
    of_ranks: tuple[RankOption, ...] = ()
