"""The rankfile against the bindings and against what Open MPI makes of it."""

from __future__ import annotations

from collections import defaultdict

from mgd.diagnostics import Label, Position
from tt_run.inputs.findings import Findings, counted, label, list_numbers
from tt_run.plan.checks.subject import Subject

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.inputs.hosts.rankfiles import Rankfile, RankfileLine


def check_rankfile(subject: Subject, findings: Findings) -> None:
    """TTR301 to TTR306, TTR310, TTR312."""
    _check_ignored_form(subject, findings)
    rankfile = subject.seating.rankfile
    if rankfile is None:
        return
    _check_ranks(subject, rankfile, findings)
    _check_form(rankfile, findings)
    _check_named_hosts(subject, rankfile, findings)
    _check_slots(subject, rankfile, findings)


def _check_ranks(subject: Subject, rankfile: Rankfile, findings: Findings) -> None:
    lines = rankfile.by_rank()
    count = len(subject.ranks)
    missing = [binding for binding in subject.bindings if binding.rank not in lines]
    if missing:
        ranks = list_numbers([binding.rank for binding in missing])
        findings.error(
            "TTR301",
            f"the rankfile does not place rank {ranks}",
            Label(Position(rankfile.file, 1, 1), f"places {counted(len(lines), 'rank')}, bound: {count}"),
            Label(missing[0].position, f"rank {missing[0].rank} is bound here"),
            help=f"add the line: rank {missing[0].rank}=HOST slot=0",
        )
    for rank, line in lines.items():
        if rank >= count:
            findings.warn(
                "TTR302",
                f"the rankfile places rank {rank}, which is not bound",
                *label(line.position, f"only ranks 0..{count - 1} are started"),
                help="remove the line, or bind the rank",
            )
    for line in rankfile.lines:
        first = lines[line.rank]
        if first is not line:
            findings.error(
                "TTR303",
                f"the rankfile places rank {line.rank} twice",
                *label(line.position, f"on {line.host}"),
                *label(first.position, f"on {first.host}"),
                help="keep one of the lines",
            )


def _check_form(rankfile: Rankfile, findings: Findings) -> None:
    if not rankfile.is_in_order:
        late = next(b for a, b in zip(rankfile.lines, rankfile.lines[1:], strict=False) if b.rank < a.rank)
        findings.note(
            "TTR304",
            "the rankfile is not in ascending order, which Open MPI 5 refuses; mpirun gets a sorted copy",
            *label(late.position, f"rank {late.rank} comes late"),
            help="sort the lines by rank",
        )
    if rankfile.has_crlf:
        findings.note(
            "TTR305",
            "the rankfile has Windows line ends, which Open MPI refuses; mpirun gets a copy without",
            Label(Position(rankfile.file)),
            help=f"sed -i 's/\\r$//' {rankfile.file}",
        )


def _check_named_hosts(subject: Subject, rankfile: Rankfile, findings: Findings) -> None:
    hosts = subject.seating.hosts
    if hosts is None:
        return
    known = {host.name for host in hosts.hosts}
    relative = {f"+n{index}" for index in range(len(hosts.hosts))}  # the n-th host of the list
    told: set[str] = set()
    for line in rankfile.lines:
        if line.host not in known | relative | told:
            told.add(line.host)
            findings.error(
                "TTR306",
                f"the rankfile places rank {line.rank} on {line.host}, which {hosts.source} does not name",
                *label(line.position, f"hosts named: {', '.join(sorted(known))}"),
                help=f"add {line.host} to {hosts.source}, or leave the hosts out: the rankfile names them",
            )


def _check_slots(subject: Subject, rankfile: Rankfile, findings: Findings) -> None:
    """Ranks that would be bound to the same cores, or to one core each.

    Where all slots are single numbers they count ranks, and the launch leaves the ranks unbound, unless --bare.
    """
    placed = [line for line in rankfile.by_rank().values() if line.slot and line.rank < len(subject.ranks)]
    counts_ranks = all((line.slot or "").isdigit() for line in placed)
    if subject.mpi_args.bind_to is not None or (counts_ranks and not subject.request.bare):
        return
    takers: dict[tuple[str, str], list[RankfileLine]] = defaultdict(list)
    for line in sorted(placed, key=lambda line: line.rank):
        takers[line.host, line.slot or ""].append(line)
    for (host, slot), lines in takers.items():
        if len(lines) > 1:
            findings.warn(
                "TTR307",
                f"ranks {list_numbers([line.rank for line in lines])} take the same slot {slot} of {host}",
                *(part for line in lines[:2] for part in label(line.position, f"rank {line.rank}")),
                help="give each rank its own slot, or add --mpi-args '--bind-to none'",
            )
    single = [line for line in placed if (line.slot or "").isdigit()]
    if single:
        findings.warn(
            "TTR310",
            "a single slot binds a rank and all of its threads to one core",
            *label(single[0].position, f"rank {single[0].rank}: slot={single[0].slot}"),
            help="write a range, slot=0-15, or add --mpi-args '--bind-to none'",
        )


def _check_ignored_form(subject: Subject, findings: Findings) -> None:
    path = subject.mpi_args.mca.get("rmaps_rankfile_path")
    if path is None or subject.launcher is None or (subject.launcher.major or 0) < 5:
        return
    findings.error(
        "TTR312",
        "Open MPI 5 ignores --mca rmaps_rankfile_path, so ranks would land elsewhere",
        help=f"write --mpi-args '--rankfile {path}'",
    )
