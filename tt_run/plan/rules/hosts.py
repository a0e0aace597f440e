"""TTR3xx: hosts, rankfiles and interfaces."""

from __future__ import annotations

from tt_run.plan.rules.rule import Rule

HOSTS = (
    Rule(
        "TTR301",
        "rank without a line in the rankfile",
        "Open MPI stops with 'a rank is missing its location specification'.",
        "Add a line for each bound rank.",
    ),
    Rule(
        "TTR302",
        "rankfile line without a rank",
        "No such rank is started.",
        "Remove the line, or bind the rank.",
    ),
    Rule("TTR303", "rank placed twice", "The rank can run in one place only.", "Keep one of the lines."),
    Rule(
        "TTR304",
        "rankfile out of order",
        "Open MPI 5 says 'rank 0 is already assigned' for most orders other than ascending. mpirun gets a sorted copy.",
        "Sort the lines by rank.",
        "rank 1=hostB slot=0\nrank 0=hostA slot=0",
    ),
    Rule(
        "TTR305",
        "Windows line ends in the rankfile",
        "Open MPI refuses them. mpirun gets a copy without.",
        "Convert the file: sed -i 's/\\r$//' FILE",
    ),
    Rule(
        "TTR306",
        "rankfile host that is not in the list of hosts",
        "Open MPI claims that the host was not allocated or oversubscribed.",
        "Add the host to the list, or leave the list out.",
    ),
    Rule(
        "TTR307",
        "slot taken by several ranks",
        "The ranks are bound to the same cores and wait for each other.",
        "Give each rank its own slot, or do not bind: --mpi-args '--bind-to none'.",
    ),
    Rule(
        "TTR308",
        "--hosts that is not used",
        "With rank bindings the reference ignores --hosts. Here it counts when it says how many ranks each host takes.",
        "Write --hosts a:1,b:1, or name a rankfile in --mpi-args.",
        "tt-run --rank-binding f.yaml --hosts a,b python x.py",
    ),
    Rule(
        "TTR309",
        "more ranks than slots",
        "Open MPI refuses to start, or puts all ranks on the first host when it may oversubscribe.",
        "Give each host more slots, or name more hosts.",
        "tt-run --rank-binding four_ranks.yaml --hosts a:1,b:1 python x.py",
    ),
    Rule(
        "TTR310",
        "ranks bound to single cores",
        "Beside ranges, and with --bare, slot=0 pins the rank with all of its threads to one core; numerical libraries crawl.",
        "Write a range (slot=0-15), or do not bind: --mpi-args '--bind-to none'.",
        "rank 0=hostA slot=0",
    ),
    Rule(
        "TTR311",
        "unknown network interface",
        "Traffic between hosts would go nowhere and the ranks would hang in their first collective.",
        "Use an interface that `ip link` shows.",
        "tt-run --tcp-interface eth7 …",
    ),
    Rule(
        "TTR312",
        "a rankfile that Open MPI 5 ignores",
        "--mca rmaps_rankfile_path is accepted without a word and the ranks land elsewhere.",
        "Write --mpi-args '--rankfile FILE'.",
    ),
    Rule(
        "TTR313",
        "--tcp-interface that is not used",
        "Another word has settled which interfaces MPI uses, so the option has no effect.",
        "Keep one of the two settings.",
        "tt-run --tcp-interface eth0 --mpi-args '--mca btl_tcp_if_exclude lo' …",
    ),
)
