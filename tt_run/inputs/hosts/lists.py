"""Lists of hosts and how many ranks each takes: `--hosts`, hostfiles, and what a scheduler says (reference launcher 0.81.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mgd.diagnostics import Diagnostic, Label, Position
from mgd.lean import dataclass
from tt_run.errors import UsageError
from tt_run.inputs.document import read_text
from tt_run.inputs.file_kinds import is_of_another_kind
from tt_run.inputs.findings import Findings
from tt_run.inputs.hosts.names import host_name_problem
from tt_run.inputs.hosts.nodelist import expand_counts, expand_nodes
from tt_run.inputs.site import Site, is_file

_HOSTFILE_VARIABLES = (
    "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_orte_default_hostfile",  # what an MPIJob sets; Open MPI 5 ignores it silently
    "PRRTE_MCA_prte_default_hostfile",
)
MOST_SLOTS = 65_536
"""More ranks than this on one host is a slip of the finger."""

_SLOTS = r"(?ai)slots\s*=\s*(\d{1,9})(?!\w)"
_MAX_SLOTS = r"(?ai)max[-_]slots\s*=\s*\d+"


@dataclass(frozen=True, slots=True)
class HostSlots:
    """A host and how many ranks it takes."""

    name: str
    slots: int = 1


@dataclass(frozen=True, slots=True)
class HostList:
    """Hosts in order, and which input said so, in words. `counted` is False when no slots were written anywhere."""

    hosts: tuple[HostSlots, ...]
    source: str
    counted: bool = True
    hostfile: Path | None = None

    @property
    def slots(self) -> int:
        """How many ranks fit in all."""
        return sum(host.slots for host in self.hosts)


def parse_hosts(text: str, option: str = "--hosts") -> HostList:
    """The hosts of a comma list `a,b:2,node[1-4]`, in written order.

    Raises UsageError for an empty list, a host named twice, blanks or control characters in a name, an option in place of
    a name, and a slot count that is not a positive number.
    """
    problems: list[Diagnostic] = []
    names: dict[str, HostSlots] = {}
    counted = False
    for part in _split(text):
        host, colon, count = _parts(part)
        problem = _host_problem(part, host, colon, count)
        if problem:
            help = f"write {option} {_meant(part)}"
            problems.append(Diagnostic("TTR015", f"{option}: {problem}", help=help))
            continue
        counted = counted or bool(colon)
        for name in expand_nodes(host) or (host,):
            if name in names:
                problems.append(
                    Diagnostic(
                        "TTR015",
                        f"Duplicate hostname in {option}: {name!r}",
                        help=f"write {name}:2 for two ranks in place of a duplicate",
                    )
                )
            names[name] = HostSlots(name, int(count) if colon else 1)
    if not names and not problems:
        problems.append(
            Diagnostic(
                "TTR015", f"No valid hostnames in {option}: {text!r}", help=f"write {option} host1,host2"
            )
        )
    if problems:
        raise UsageError(problems)
    return HostList(tuple(names.values()), option, counted)


def _split(text: str) -> list[str]:
    """The parts between commas that are not inside brackets, trimmed, empty ones dropped."""
    return [part.strip(" ") for part in re.split(r",(?![^\[]*\])", text) if part.strip(" ")]


def _parts(part: str) -> tuple[str, str, str]:
    """The host, its colon and its slots, of which the last two may be empty."""
    return part.rpartition(":") if ":" in part else (part, "", "")


def _meant(part: str) -> str:
    """The list that was probably meant by a part with blanks, or with `=` before the slots; else one to follow."""
    listed = re.sub(r"(?<=\w)=(?=[0-9])", ":", ",".join(part.split()))
    unfit = any(_host_problem(each, *_parts(each)) for each in listed.split(","))
    return "host1:2,host2:2" if unfit else listed


def _host_problem(part: str, host: str, colon: str, count: str) -> str:
    problem = host_name_problem(host) if host else ""
    if problem:
        return problem
    if colon and not (
        count.isascii() and count.isdigit() and len(count) < 7 and 1 <= int(count) <= MOST_SLOTS
    ):
        return f"{part!r} has no slot count of 1..{MOST_SLOTS} after ':'"
    if not host:
        return f"{part!r} has no host before ':'"
    if host.count(":") == 1:  # an address of IPv6 has more
        return f"{part!r} has two counts of slots"
    return ""


def read_hostfile(path: Path, site: Site, findings: Findings) -> HostList | None:
    """The hosts of an Open MPI hostfile: `NAME [slots=N] [max_slots=M]` or `NAME:N` for each line; None with a finding when
    unreadable. A repeated name adds a slot, as mpirun counts it."""
    if is_of_another_kind(path, site, findings, "a hostfile", "--hostfile"):
        return None
    text = read_text(path, site, findings)
    if text is None:
        return None
    slots: dict[str, int] = {}
    counted, before = False, len(findings.judged)
    for number, raw in enumerate(text.split("\n"), start=1):
        content = raw.partition("#")[0].strip()
        if not content:
            continue
        name, *words = content.split(None, 1)
        rest = words[0] if words else ""
        rest = re.sub(_MAX_SLOTS, "", rest)
        count = re.search(_SLOTS, rest)
        unknown = re.sub(_SLOTS, "", rest).strip()
        host, colon, after = name.partition(":")
        if unknown or (colon and not re.fullmatch(r"[0-9]{1,9}", after)) or host_name_problem(host):
            findings.error(
                "TTR120",
                "a line of the hostfile cannot be read",
                Label(Position(site.shown(path), number, 1), content),
                help="write: hostname slots=2",
            )
            continue
        counted = counted or bool(count or colon)
        slots[host] = slots.get(host, 0) + int(count.group(1) if count else after or "1")
    if not slots:
        if len(findings.judged) == before:
            findings.fatal(
                "TTR120",
                "the hostfile names no host",
                Label(Position(site.shown(path), 1, 1)),
                help="write a line HOST slots=2 for each host",
            )
        findings.errors_are_final()
        return None
    hosts = tuple(HostSlots(name, number) for name, number in slots.items())
    return HostList(hosts, f"hostfile {site.shown(path)}", counted, path)


def scheduler_hosts(site: Site, findings: Findings) -> HostList | None:
    """The hosts that the surroundings name: an MPIJob's or a site's default hostfile, else a Slurm allocation, else None."""
    for variable in _HOSTFILE_VARIABLES:
        named = site.get(variable)
        if named and is_file(Path(named)):
            found = read_hostfile(Path(named), site, findings)
            return found and HostList(found.hosts, f"{variable}={named}", found.counted, Path(named))
    return slurm_hosts(site)


def slurm_hosts(site: Site) -> HostList | None:
    """The nodes of the Slurm allocation that this shell is in, with their task counts; None outside of one."""
    nodes = site.get("SLURM_JOB_NODELIST") or site.get("SLURM_NODELIST")
    job = site.get("SLURM_JOB_ID") or site.get("SLURM_JOBID")
    if not nodes or not job:
        return None
    names = [name for part in _split(nodes) for name in expand_nodes(part) or (part,)]
    tasks = site.get("SLURM_TASKS_PER_NODE") or site.get("SLURM_NTASKS_PER_NODE") or ""
    if not names:
        return None
    counts: Sequence[int] = expand_counts(tasks, len(names))
    hosts = tuple(HostSlots(name, count) for name, count in zip(names, counts, strict=True))
    return HostList(hosts, f"Slurm allocation (job {job})", bool(tasks))
