"""TTR3xx: hosts, rankfiles and interfaces."""

from __future__ import annotations

from mgd.catalogue import Rule
from mgd.diagnostics import Severity

HOSTS = (
    Rule(
        "TTR301",
        "rank without a line in the rankfile",
        why="Open MPI stops with 'a rank is missing its location specification'.",
        help="Add a line for each bound rank.",
    ),
    Rule(
        "TTR302",
        "rankfile line without a rank",
        why="No such rank is started.",
        help="Remove the line, or bind the rank.",
        severity=Severity.WARNING,
    ),
    Rule(
        "TTR303",
        "rank placed twice",
        why="The rank can run in one place only.",
        help="Keep one of the lines.",
    ),
    Rule(
        "TTR304",
        "rankfile out of order",
        why="Open MPI 5 says 'rank 0 is already assigned' for most orders other than ascending. mpirun gets a sorted copy.",
        help="Sort the lines by rank.",
        bad="rank 1=hostB slot=0\nrank 0=hostA slot=0",
        severity=Severity.NOTE,
    ),
    Rule(
        "TTR305",
        "Windows line ends in the rankfile",
        why="Open MPI refuses them. mpirun gets a copy without.",
        help="Convert the file: sed -i 's/\\r$//' FILE",
        severity=Severity.NOTE,
    ),
    Rule(
        "TTR306",
        "rankfile host that is not in the list of hosts",
        why="Open MPI claims that the host was not allocated or oversubscribed.",
        help="Add the host to the list, or leave the list out.",
    ),
    Rule(
        "TTR307",
        "slot taken by several ranks",
        why="The ranks are bound to the same cores and wait for each other.",
        help="Give each rank its own slot, or do not bind: --mpi-args '--bind-to none'.",
        severity=Severity.WARNING,
    ),
    Rule(
        "TTR308",
        "--hosts that is not used",
        why="With rank bindings the reference ignores --hosts. Here it counts when it says how many ranks each host takes.",
        help="Write --hosts a:1,b:1, or name a rankfile in --mpi-args.",
        bad="tt-run --rank-binding f.yaml --hosts a,b python x.py",
        severity=Severity.WARNING,
    ),
    Rule(
        "TTR309",
        "more ranks than slots",
        why="Open MPI refuses to start, or puts all ranks on the first host when it may oversubscribe.",
        help="Give each host more slots, or name more hosts.",
        bad="tt-run --rank-binding four_ranks.yaml --hosts a:1,b:1 python x.py",
    ),
    Rule(
        "TTR310",
        "ranks bound to single cores",
        why="Beside ranges, and with --bare, slot=0 pins the rank with all of its threads to one core; numerical libraries crawl.",
        help="Write a range (slot=0-15), or do not bind: --mpi-args '--bind-to none'.",
        bad="rank 0=hostA slot=0",
        severity=Severity.WARNING,
    ),
    Rule(
        "TTR311",
        "unknown network interface",
        why="Traffic between hosts would go nowhere and the ranks would hang in their first collective.",
        help="Use an interface that `ip link` shows.",
        bad="tt-run --tcp-interface eth7 …",
    ),
    Rule(
        "TTR312",
        "a rankfile that Open MPI 5 ignores",
        why="--mca rmaps_rankfile_path is accepted without a word and the ranks land elsewhere.",
        help="Write --mpi-args '--rankfile FILE'.",
    ),
    Rule(
        "TTR313",
        "--tcp-interface that is not used",
        why="Another word has settled which interfaces MPI uses, so the option has no effect.",
        help="Keep one of the two settings.",
        bad="tt-run --tcp-interface eth0 --mpi-args '--mca btl_tcp_if_exclude lo' …",
        severity=Severity.WARNING,
    ),
)
