"""What every emitted job has: its command line, its nodes with their ranks, and the launching shell's variables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mgd.lean import dataclass
from tt_run import contract
from tt_run.inputs.secrets import is_secret
from tt_run.plan.model import LaunchPlan

# Sources of hosts that a person wrote; the others are an allocation, whose hosts the next one need not have.
_WRITTEN = ("--host", "rankfile", "hostfile")


@dataclass(frozen=True, slots=True)
class Nodes:
    """How many nodes, with how many ranks at most on each, the names that were asked for, and why it is so many."""

    count: int
    slots: int
    names: tuple[str, ...]
    why: str
    is_even: bool = True


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A launch to be carried out later: `words` follow `tt-run`; `folder` holds the `tt-run` program; `seconds` limits the run."""

    plan: LaunchPlan
    words: tuple[str, ...]
    folder: Path
    seconds: float | None = None

    @property
    def name(self) -> str:
        """A name that Slurm and Kubernetes take: of the program's file, without its ending."""
        files = [word for word in self.plan.program if "." in word] or list(self.plan.program)
        stem = re.sub(r"[^a-z0-9]+", "-", Path(files[0]).stem.lower()).strip("-")
        return stem[:40] or "tt-run"

    @property
    def nodes(self) -> Nodes:
        return nodes_of(self.plan)

    def counted(self, noun: str) -> str:
        """`4 ranks on 2 nodes`."""
        ranks, count = len(self.plan.ranks), self.nodes.count
        return f"{ranks} rank{'s' * (ranks != 1)} on {count} {noun}{'s' * (count != 1)}"

    @property
    def variables(self) -> Mapping[str, str]:
        """What every rank gets from the launching shell because of its name, e.g. TT_LOGGER_LEVEL."""
        common = self.plan.ranks[0].env
        return {
            name: variable.value
            for name, variable in sorted(common.items())
            if variable.origin == "shell: passed through" and not is_secret(name)
        }

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of those that look like secrets, which no file is to hold."""
        common = self.plan.ranks[0].env
        return tuple(
            name
            for name, variable in sorted(common.items())
            if variable.origin == "shell: passed through" and is_secret(name)
        )

    @property
    def secrets_note(self) -> str:
        """A comment on them, empty when there are none."""
        return (
            f"# Left out as secrets, to be provided where the job runs: {', '.join(self.secrets)}\n"
            * bool(self.secrets)
        )


def nodes_of(plan: LaunchPlan) -> Nodes:
    """The nodes of a plan: the hosts that were named, else what the ranks' visible devices say, else one for each rank."""
    hosts, count = plan.placement.hosts, len(plan.ranks)
    if hosts and plan.placement.source.startswith(_WRITTEN):
        slots = [host.slots for host in hosts]
        names = tuple(host.name for host in hosts)
        return Nodes(len(hosts), max(slots), names, f"hosts of {plan.placement.source}", len(set(slots)) == 1)
    if hosts:
        slots = [host.slots for host in hosts]
        return Nodes(len(hosts), max(slots), (), f"as in this {plan.placement.source}", len(set(slots)) == 1)
    visible = [rank.env.get(contract.VISIBLE_DEVICES) for rank in plan.ranks]
    shared = _ranks_per_node([variable.value if variable else "" for variable in visible])
    if shared > 1:
        return Nodes(
            count // shared, shared, (), f"{contract.VISIBLE_DEVICES} tells the ranks of a node apart"
        )
    return Nodes(count, 1, (), "one rank for each host, since no hosts are named")


def _ranks_per_node(visible: Sequence[str]) -> int:
    """How many ranks share a node: those up to the first repetition, when all further ones repeat them; 1 without devices."""
    if not all(visible):
        return 1
    period = len(dict.fromkeys(visible))
    repeats = all(value == visible[index % period] for index, value in enumerate(visible))
    return period if repeats and len(visible) % period == 0 else 1
