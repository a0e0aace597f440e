"""Which host and slot each rank gets, and which input said so (reference launcher 0.81.1)."""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice
from pathlib import Path

from mgd.lean import dataclass, replace
from tt_run.inputs.findings import Findings
from tt_run.inputs.hosts.lists import HostList, HostSlots, parse_hosts, read_hostfile, scheduler_hosts
from tt_run.inputs.mpi_args import MpiArgs, host_token
from tt_run.inputs.paths import PathSearch
from tt_run.inputs.site import Site, is_file
from tt_run.plan.model import Placement
from tt_run.plan.request import CheckLevel, LaunchRequest

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.inputs.hosts.rankfiles import Rankfile
    from tt_run.plan.rank_source import RankSource


@dataclass(frozen=True, slots=True)
class Seat:
    """Where one rank runs; None where the launcher decides."""

    host: str | None = None
    slot: str | None = None


@dataclass(frozen=True)
class Seating:
    """The seat of each rank by number, the placement as a whole, and the inputs it came from."""

    placement: Placement
    seats: tuple[Seat, ...]
    rankfile: Rankfile | None = None
    hosts: HostList | None = None

    @property
    def most_on_one_host(self) -> int:
        """The largest number of ranks that share a host; all of them where the hosts are not known."""
        counts = Counter(seat.host for seat in self.seats)
        return max(counts.values(), default=1)


def find_seats(
    request: LaunchRequest, source: RankSource, mpi_args: MpiArgs, site: Site, findings: Findings
) -> Seating:
    """Seats from, in this order: a rankfile, hosts in --mpi-args, --hosts, a scheduler, this machine."""
    count = len(source.bindings.bindings)
    hosts = _named_hosts(request, mpi_args, site, findings)
    if mpi_args.rankfile is not None:
        from tt_run.inputs.hosts.rankfiles import read_rankfile

        unchecked = request.check is CheckLevel.OFF
        path = PathSearch(site, findings).find(mpi_args.rankfile, "rankfile", must_exist=not unchecked)
        if unchecked and path is not None and not is_file(path):
            return _by_missing_rankfile(path, mpi_args, count, site, findings)
        rankfile = path and read_rankfile(path, site, findings)
        if not rankfile:
            return Seating(Placement(), (Seat(),) * count)
        return _by_rankfile(rankfile, mpi_args, hosts, count, site)
    if source.rankfile is not None:
        trouble = "rank pins keep the ranks from filling the hosts in order"
        pinned = _by_rankfile(source.rankfile, mpi_args, hosts, count, site)
        placement = replace(pinned.placement, rankfile_trouble=trouble, source="--hosts and rank pins")
        return replace(pinned, placement=placement)
    # Ranks allocated on a mock cluster all run here, whatever machines they stand for.
    bound = request.rank_binding is not None or request.rank_bindings_mapping is not None
    here = request.no_scheduler or (not bound and request.mock_cluster_rank_binding is not None)
    if hosts is None and not here:
        hosts = scheduler_hosts(site, findings)
    if hosts is None:
        return Seating(Placement(), (Seat(site.hostname),) * count)
    return _by_hosts(hosts, mpi_args, count)


def _named_hosts(
    request: LaunchRequest, mpi_args: MpiArgs, site: Site, findings: Findings
) -> HostList | None:
    """The hosts that the user wrote, None when there are none."""
    option = parse_hosts(request.hosts) if request.hosts else None
    if mpi_args.hostfile is not None:
        path = PathSearch(site, findings).find(mpi_args.hostfile, "hostfile")
        return read_hostfile(path, site, findings) if path else None
    if mpi_args.hosts:
        slots: Counter[str] = Counter()
        for name, count in map(host_token, mpi_args.hosts):
            slots[name] += count or 1
        hosts = tuple(HostSlots(name, count) for name, count in slots.items())
        return HostList(hosts, "--host of --mpi-args")
    if option is None:
        return None
    from_bindings = request.rank_binding is not None or request.rank_bindings_mapping is not None
    if from_bindings and not option.counted:
        findings.warn(
            "TTR308",
            "--hosts without slots is not used with rank bindings, as in the reference launcher",
            help="write --hosts "
            + ",".join(f"{host.name}:1" for host in option.hosts)
            + ", or name a rankfile",
        )
        return None
    return option


def _by_rankfile(
    rankfile: Rankfile, mpi_args: MpiArgs, named: HostList | None, count: int, site: Site
) -> Seating:
    lines = rankfile.by_rank()
    relative = {f"+n{index}": host.name for index, host in enumerate(named.hosts)} if named else {}
    seats = tuple(
        Seat(relative.get(lines[rank].host, lines[rank].host), lines[rank].slot) if rank in lines else Seat()
        for rank in range(count)
    )
    used = Counter(seat.host for seat in seats if seat.host is not None)
    every = tuple(HostSlots(name, max(1, used[name])) for name in rankfile.hosts)
    hosts = named.hosts if named else every
    source = f"rankfile {rankfile.file}"
    placement = Placement(
        hosts,
        _named(rankfile.path, site),
        rankfile.normal_text(),
        rankfile.trouble,
        mpi_args.policy,
        mpi_args.rankfile_at,
        source,
    )
    return Seating(placement, seats, rankfile, named)


def _by_missing_rankfile(
    path: Path, mpi_args: MpiArgs, count: int, site: Site, findings: Findings
) -> Seating:
    """The rankfile as named, for mpirun to complain about: what the reference does, and `--check off` asks for."""
    findings.warn(
        "TTR101", f"rankfile not found: {site.shown(path)}", help="mpirun will not start without it"
    )
    placement = Placement(
        rankfile=_named(path, site),
        rankfile_policy=mpi_args.policy,
        rankfile_at=mpi_args.rankfile_at,
        source=f"rankfile {site.shown(path)}",
    )
    return Seating(placement, (Seat(),) * count)


def _named(path: Path | None, site: Site) -> Path | None:
    """The rankfile as the launcher is to name it: relative to the launch directory when it lies outside of it, which every
    version's policy parser takes."""
    if path is None or path.is_relative_to(site.cwd):
        return path
    return Path(os.path.relpath(path, site.cwd))


def _by_hosts(hosts: HostList, mpi_args: MpiArgs, count: int) -> Seating:
    """Ranks fill the slots in the order of the hosts, unless the user maps them otherwise.

    A hostfile without counts gives each host as many slots as it has cores, so nothing can be said there.
    """
    by_slot = (host.name for host in hosts.hosts for _ in range(host.slots))
    in_order = list(islice(by_slot, count))
    mapped = any(word.partition("=")[0] in ("--map-by", "-map-by", "--rank-by") for word in mpi_args.words)
    unknown = hosts.hostfile is not None and not hosts.counted
    if mapped or unknown or len(in_order) < count:
        seats = (Seat(),) * count
    else:
        seats = tuple(Seat(name) for name in in_order)
    hostfile = hosts.hostfile if unknown else None
    return Seating(Placement(hosts.hosts, source=hosts.source, hostfile=hostfile), seats, None, hosts)
