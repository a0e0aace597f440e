"""The options of `tt-run` as a table; reading them from the command line is in `parse`, showing them in `help`.

A table and a small reader in place of a library, because the launcher has 100 ms for everything that it adds to mpirun, and importing click
alone takes a quarter of them.
"""

from __future__ import annotations

from collections.abc import Sequence

WHAT = "What to launch"
WHERE = "Where the ranks go"
HOW = "How they are started"
WATCH = "Watching the run"
EMULATION = "Emulation"
LOOK = "Looking without running"


class Option:
    """One option: its names, what its value looks like, and one line of help.

    `metavar` is empty for a flag. `kind` is how the value is read: a tuple of words to choose from, "text", "seconds" (more than 0),
    "count" (0 or more) or "number" (1 or more). `key` is its name in the values read.
    """

    __slots__ = ("default", "group", "help", "key", "kind", "metavar", "names")

    def __init__(
        self,
        group: str,
        names: str,
        metavar: str,
        text: str,
        kind: str | tuple[str, ...] = "text",
        default: object = None,
        key: str = "",
    ) -> None:
        self.group = group
        self.names = tuple(names.split())
        self.metavar = metavar
        self.help = text
        self.kind = kind if metavar else "flag"
        self.default = default if metavar else False
        self.key = key or self.names[-1].lstrip("-").replace("-", "_")

    @property
    def is_flag(self) -> bool:
        return self.kind == "flag"


OPTIONS: Sequence[Option] = (
    Option(WHAT, "--rank-binding", "FILE", "Rank bindings (YAML)."),
    Option(WHAT, "--rank-bindings-mapping", "FILE", "Several rank bindings as sub-contexts."),
    Option(WHAT, "-m --mesh-graph-descriptor", "FILE", "Allocate ranks for a mesh graph descriptor."),
    Option(WHAT, "-M --mesh-graph-descriptor-mapping", "FILE", "The same for several descriptors."),
    Option(
        WHAT,
        "--mock-cluster-rank-binding",
        "FILE",
        "Mock cluster descriptors by rank; one alone: one rank on its chips.",
    ),
    Option(WHAT, "--factory-system-descriptor", "FILE", "Factory system descriptor for every rank."),
    Option(WHERE, "--hosts", "A:2,B:2", "Hosts, with the number of ranks on each."),
    Option(WHERE, "--mpi-args", "WORDS", "Words for mpirun, e.g. '--rankfile FILE'.", default=""),
    Option(
        WHERE,
        "--rankfile-syntax",
        "FORM",
        "How mpirun is told: auto, rankfile, map-by, mca.",
        ("auto", "rankfile", "map-by", "mca"),
        "auto",
    ),
    Option(WHERE, "--tcp-interface", "NAME", "Network interface for MPI between hosts."),
    Option(WHERE, "--no-scheduler", "", "Ignore a Slurm or MPIJob allocation."),
    Option(WHERE, "--rank-pinning-file", "FILE", "Hosts of single ranks of an allocation (YAML)."),
    Option(
        WHERE, "--placement-timeout", "SECONDS", "Search so long for chips of a mock cluster [60].", "seconds"
    ),
    Option(WHERE, "--discover", "", "Ask the hardware: generate_rank_bindings of TT-Metal on every host."),
    Option(WHERE, "--force-rediscovery", "", "Do not use what was discovered earlier."),
    Option(HOW, "--bare", "", "Add no transport or network setting to mpirun's line."),
    Option(HOW, "--mpmd", "", "One application context per rank."),
    Option(HOW, "--stdin", "", "Rank 0 reads this terminal; otherwise nobody does."),
    Option(HOW, "--debug-gdbserver", "", "Each rank under gdbserver, port 20000 + rank."),
    Option(HOW, "--tracy", "WORDS", "Each rank under the Tracy profiler; '' for its defaults."),
    Option(HOW, "--skip-executable-check", "", "The program need not exist on this machine."),
    Option(HOW, "--skip-mgd-check", "", "The descriptor need not exist on this machine."),
    Option(WATCH, "--log-dir", "DIR", "Run folder [tt-run-logs/<time>-<pid>]."),
    Option(
        WATCH, "--tee", "WHICH", "Console: all, first, errors, none, or ranks as in 0,3 [all].", default="all"
    ),
    Option(WATCH, "--no-prefix", "", "No [rank] in front of lines."),
    Option(WATCH, "--timeout", "SECONDS", "End the run after this long.", "seconds"),
    Option(WATCH, "--start-timeout", "SECONDS", "All ranks must have started by then.", "seconds"),
    Option(
        WATCH,
        "--hang-timeout",
        "SECONDS",
        "End when no rank makes progress for so long; auto: when ranks wait for one that has ended; off [auto].",
        default="auto",
    ),
    Option(WATCH, "--max-restarts", "N", "Run again after a failure, so many times.", "count", 0),
    Option(WATCH, "--report", "FILE", "Write plan, outcomes and verdict as JSON."),
    Option(
        WATCH,
        "--annotations",
        "FORM",
        "github: mark the failing line; none [none].",
        ("github", "none"),
        "none",
    ),
    Option(EMULATION, "--emulate", "", "ttnn and ttml without hardware."),
    Option(EMULATION, "--system", "NAME", "A ready system: n300, t3000, galaxy, …"),
    Option(EMULATION, "--split", "RxC", "Cut each mesh over so many hosts."),
    Option(EMULATION, "--meshes", "N", "So many meshes of the system.", "number"),
    Option(EMULATION, "--guard", "on|off", "Check collectives against each other [on].", ("on", "off")),
    Option(EMULATION, "--ledger", "FILE", "Bytes per link, collective and axis."),
    Option(EMULATION, "--timeline", "FILE", "Trace events for Perfetto."),
    Option(LOOK, "--dry-run", "", "Print what would run, as lines to paste."),
    Option(
        LOOK,
        "--format",
        "FORM",
        "shell, json or table [shell].",
        ("shell", "json", "table"),
        "shell",
        key="output_format",
    ),
    Option(
        LOOK,
        "--check",
        "LEVEL",
        "Joint check of all inputs: error, warn, off [error].",
        ("error", "warn", "off"),
        "error",
    ),
    Option(LOOK, "--check-only", "", "Stop after the check."),
    Option(LOOK, "--print-env", "RANK", "A rank's variables and where each comes from.", "count"),
    Option(
        LOOK,
        "--emit",
        "FORM",
        "Print a job that does this later: slurm (batch script) or mpijob (Kubernetes manifest).",
        ("slurm", "mpijob"),
    ),
    Option(LOOK, "--explain", "CODE", "What a finding such as TTR204 means."),
    Option(LOOK, "--doctor", "", "What this machine, or each of the hosts, offers for a launch."),
    Option(LOOK, "--completion", "SHELL", "Completion script: bash, zsh or fish.", ("bash", "zsh", "fish")),
    Option(LOOK, "-v --verbose", "", "Say more."),
    Option(LOOK, "--version", "", "Versions of tt-run and mpirun."),
    Option(LOOK, "--help", "", "This text."),
)
