"""What ranks see of the launching shell: one rule for all ranks of a job.

Where every rank runs on this machine, the shell's variables besides those of the plan, as mpirun and the reference launcher have it. Where
one runs elsewhere, the plan alone for all of them, since the shell does not reach there: a job must not change when it goes to two hosts.
`--clean-env` gives the plan alone always, `--inherit-env` sends the shell's variables along, but for those that only this machine can use.
"""

from __future__ import annotations

from collections.abc import Mapping

from mgd.lean import dataclass, field
from tt_run.inputs.environment import BLOCKED, EnvVar
from tt_run.inputs.mpi_args import MpiArgs
from tt_run.inputs.site import Site
from tt_run.plan.request import LaunchRequest
from tt_run.plan.slots import Seating

KEPT_BY_SHELLS = frozenset(("_", "OLDPWD", "PWD", "SHLVL"))
"""A shell sets them anew for whatever it starts; names that are none to it, it does not pass on."""

OWN_OF_A_MACHINE = (
    "SSH_",
    "XDG_",
    "DBUS_",
    "DISPLAY",
    "XAUTHORITY",
    "HOSTNAME",
    "TERM_SESSION",
    "TMUX",
    "STY",
)
"""Names, or how they begin, that mean nothing on another host."""

OF_MPI = ("OMPI_", "PMIX_", "PRTE_", "PRRTE_", "PMI_", "ORTE_", "OPAL_", "SLURM_")
"""Of the launcher and the scheduler: they say where a process belongs, and reach it from them."""


@dataclass(frozen=True, slots=True)
class Inheritance:
    """The shell's variables that ranks see as well, and whether they see nothing besides; `left` are those that stay behind."""

    variables: Mapping[str, EnvVar] = field(default_factory=dict)
    is_exact: bool = False
    left: Mapping[str, str] = field(default_factory=dict)


def inheritance(request: LaunchRequest, seating: Seating, mpi_args: MpiArgs, site: Site) -> Inheritance:
    """The rule for this launch."""
    shell = {
        name: value
        for name, value in site.environ.items()
        if name.isidentifier() and name not in BLOCKED and name not in KEPT_BY_SHELLS
    }
    is_here = all(site.is_here(host) for host in _hosts(seating))
    exported = _exported(mpi_args, site)
    if request.clean_env or not (is_here or request.inherit_env):
        left = {
            name: value
            for name, value in shell.items()
            if name not in exported and not name.startswith(OF_MPI)
        }
        return Inheritance(exported, is_exact=True, left=left)
    sent = {
        name: EnvVar(value, "shell" if is_here else "shell, sent along")
        for name, value in shell.items()
        if is_here or not name.startswith((*OWN_OF_A_MACHINE, *OF_MPI))
    }
    return Inheritance({**sent, **exported}, is_exact=not is_here)


def _hosts(seating: Seating) -> set[str]:
    """Where ranks may run; empty where nothing names a host, so that they run here."""
    return {host.name for host in seating.placement.hosts} | {
        seat.host for seat in seating.seats if seat.host
    }


def _exported(mpi_args: MpiArgs, site: Site) -> dict[str, EnvVar]:
    """What the user asks mpirun to export with -x."""
    found = {}
    for name, given in mpi_args.exports.items():
        value = site.get(name) if given is None else given
        if value is not None:
            found[name] = EnvVar(value, f"-x {name} of --mpi-args")
    return found
