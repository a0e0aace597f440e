"""Named hosts against the number of ranks, and the interface between them."""

from __future__ import annotations

from mgd.diagnostics import Label, Position
from tt_run.inputs.findings import Findings, counted, nearest
from tt_run.plan.checks.subject import Subject

_INTERFACE_PARAMETERS = ("btl_tcp_if_include", "btl_tcp_if_exclude")


def check_hosts(subject: Subject, findings: Findings) -> None:
    """TTR309, TTR311 and TTR313."""
    _check_slots(subject, findings)
    _check_interface(subject, findings)


def _check_slots(subject: Subject, findings: Findings) -> None:
    hosts, args = subject.seating.hosts, subject.mpi_args
    if hosts is None or subject.seating.rankfile is not None:
        return
    if any("oversubscribe" in word.lower() for word in args.words):
        return
    count = len(subject.ranks)
    # A hostfile without counts gives each host as many slots as it has cores, which nobody here knows.
    if hosts.slots >= count or (hosts.hostfile is not None and not hosts.counted):
        return
    each = -(-count // len(hosts.hosts))
    form = (",", ":") if hosts.hostfile is None else (" / ", " slots=")
    spread = form[0].join(f"{host.name}{form[1]}{each}" for host in hosts.hosts)
    place = (Label(Position(subject.site.shown(hosts.hostfile), 1, 1)),) if hosts.hostfile is not None else ()
    findings.error(
        "TTR309",
        f"{count} ranks do not fit in the {counted(hosts.slots, 'slot')} of {hosts.source}",
        *place,
        help=f"write {spread}, or add --mpi-args --oversubscribe",
        notes=(", ".join(f"{host.name} takes {host.slots}" for host in hosts.hosts[:8]),),
    )


def _check_interface(subject: Subject, findings: Findings) -> None:
    name, known = subject.request.tcp_interface, subject.site.interfaces
    settled = next((word for word in _INTERFACE_PARAMETERS if word in subject.mpi_args.mca), None)
    if name is not None and (settled or subject.request.bare):
        reason = f"--mpi-args sets {settled}" if settled else "--bare leaves network settings out"
        findings.warn(
            "TTR313", f"--tcp-interface {name} is not used: {reason}", help="keep one of the two settings"
        )
        return
    if name is None or known is None or name in known:
        return
    meant = nearest(name, known)
    hosts = {rank.host for rank in subject.ranks if rank.host}
    # Where no rank runs on this machine, what it has says nothing of theirs.
    tell = findings.warn if hosts and not any(map(subject.site.is_here, hosts)) else findings.error
    tell(
        "TTR311",
        f"this host has no network interface {name!r}",
        help=f"write --tcp-interface {meant}" if meant else "one of: " + ", ".join(sorted(known)),
    )
