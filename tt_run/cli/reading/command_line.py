"""The options of a launch, each declared once: `tt-run [OPTIONS] [--] PROGRAM [ARGS...]`.

An option belongs to whoever has a field of its name (`LaunchRequest`, `LaunchOptions`, `RunOptions`) or to the part of the command that reads
the attribute; one with a `variable` goes to the emulated ranks and needs nothing else here.
"""

from __future__ import annotations

from tt_run import contract
from tt_run.cli.reading.options import Arguments, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tt_run.cli.reading.options import Option

WHAT = "What to launch"
WHERE = "Where the ranks go"
HOW = "How they are started"
WATCH = "Watching the run"
EMULATION = "Emulation"
LOOK = "Looking without running"


class CommandLine(Arguments):
    """A launch, or a look at one, as asked for."""

    __slots__ = ()
    anywhere = False  # what follows the program belongs to it

    rank_binding: str | None = option(
        WHAT, "--rank-binding", "FILE", "Rank bindings (YAML), or the name of ready ones.", "file"
    )
    rank_bindings_mapping: str | None = option(
        WHAT, "--rank-bindings-mapping", "FILE", "Several rank bindings as sub-contexts.", "file"
    )
    mesh_graph_descriptor: str | None = option(
        WHAT,
        "-m --mesh-graph-descriptor",
        "FILE",
        "Allocate ranks for a mesh graph descriptor, or for a ready one by name.",
        "file",
    )
    mesh_graph_descriptor_mapping: str | None = option(
        WHAT, "-M --mesh-graph-descriptor-mapping", "FILE", "The same for several descriptors.", "file"
    )
    mock_cluster_rank_binding: str | None = option(
        WHAT,
        "--mock-cluster-rank-binding",
        "FILE",
        "Mock cluster descriptors by rank; one alone: one rank on its chips.",
        "file",
    )
    factory_system_descriptor: str | None = option(
        WHAT, "--factory-system-descriptor", "FILE", "Factory system descriptor for every rank.", "file"
    )

    hosts: str | None = option(WHERE, "--hosts", "A:2,B:2", "Hosts, with the number of ranks on each.")
    mpi_args: str = option(
        WHERE, "--mpi-args", "WORDS", "Words for mpirun, e.g. '--rankfile FILE'.", default=""
    )
    rankfile_syntax: str = option(
        WHERE,
        "--rankfile-syntax",
        "FORM",
        "How mpirun is told: auto, rankfile, map-by, mca.",
        ("auto", "rankfile", "map-by", "mca"),
        "auto",
    )
    tcp_interface: str | None = option(
        WHERE, "--tcp-interface", "NAME", "Network interface for MPI between hosts."
    )
    no_scheduler: bool = option(WHERE, "--no-scheduler", "", "Ignore a Slurm or MPIJob allocation.")
    rank_pinning_file: str | None = option(
        WHERE,
        "--mesh-pinning-file --rank-pinning-file",
        "FILE",
        "Hosts of single ranks of an allocation (YAML).",
        "file",
    )
    placement_timeout: float | None = option(
        WHERE,
        "--placement-timeout",
        "SECONDS",
        "Search so long for chips of a mock cluster [60].",
        "seconds",
        needs="mock cluster",
    )
    discover: bool = option(
        WHERE,
        "--discover",
        "",
        "Ask the hardware for the ranks of -m or -M: generate_rank_bindings of TT-Metal on every host; done "
        "without asking where it is built.",
    )
    no_discover: bool = option(
        WHERE, "--no-discover", "", "Derive the ranks from the descriptor.", needs="allocation on hardware"
    )
    force_rediscovery: bool = option(
        WHERE,
        "--force-rediscovery",
        "",
        "Do not use what was discovered earlier.",
        needs="discovery",
    )

    bare: bool = option(HOW, "--bare", "", "Add no transport or network setting to mpirun's line.")
    mpmd: bool = option(HOW, "--mpmd", "", "One application context per rank.")
    stdin: bool = option(HOW, "--stdin", "", "Rank 0 reads this terminal; otherwise nobody does.")
    warm: str | None = option(
        HOW,
        "--warm",
        "MODULES",
        "Import these once per host and fork its ranks from there, as in torch,transformers [found from the program, from 8 ranks on a host].",
        needs="warming",
    )
    no_warm: bool = option(HOW, "--no-warm", "", "Start every rank by itself.")
    debug_rank: int | None = option(
        HOW, "--debug-rank", "RANK", "breakpoint() and failures of this rank stop here, in pdb.", "count"
    )
    debugpy: tuple[str, ...] = option(
        HOW, "--debugpy", "RANK:PORT", "This rank waits for an editor's debugger.", repeated=True
    )
    debug_gdbserver: bool = option(
        HOW, "--debug-gdbserver", "", "Each rank under gdbserver, port 20000 + rank."
    )
    tracy: str | None = option(
        HOW, "--tracy", "WORDS", "Each rank under the Tracy profiler; '' for its defaults."
    )
    clean_env: bool = option(
        HOW, "--clean-env", "", "Ranks see nothing of this shell but what the plan names (--print-env)."
    )
    inherit_env: bool = option(
        HOW, "--inherit-env", "", "Ranks see this shell's variables, on other hosts too."
    )
    skip_executable_check: bool = option(
        HOW, "--skip-executable-check", "", "The program need not exist on this machine."
    )
    skip_mgd_check: bool = option(
        HOW, "--skip-mgd-check", "", "The descriptor need not exist on this machine.", needs="bindings"
    )

    log_dir: str | None = option(
        WATCH, "--log-dir", "DIR", "Run folder [tt-run-logs/<time>-<pid>].", "output folder"
    )
    tee: str = option(
        WATCH,
        "--tee",
        "WHICH",
        "Console: all, first, errors, none, or ranks as in 0,3 [all].",
        default="all",
    )
    no_prefix: bool = option(WATCH, "--no-prefix", "", "No [rank] in front of lines.", needs="lines shown")
    timeout: float | None = option(WATCH, "--timeout", "SECONDS", "End the run after this long.", "seconds")
    start_timeout: float = option(
        WATCH, "--start-timeout", "SECONDS", "All ranks must have started by then [600].", "seconds", 600.0
    )
    hang_timeout: str = option(
        WATCH,
        "--hang-timeout",
        "SECONDS",
        "End when no rank makes progress for so long; auto: when ranks wait for one that has ended; off [auto].",
        default="auto",
    )
    max_restarts: int = option(
        WATCH, "--max-restarts", "N", "Run again after a failure, so many times.", "count", 0
    )
    report: str | None = option(
        WATCH,
        "--report",
        "FILE",
        "Write plan, outcomes and verdict as JSON; FILE.html: as a page to send.",
        "output",
        endings=".json .html .htm",
    )
    annotations: str = option(
        WATCH,
        "--annotations",
        "FORM",
        "github: mark findings and the failing line; none [none].",
        ("github", "none"),
        "none",
    )

    emulate: bool = option(EMULATION, "--emulate", "", "ttnn and ttml without hardware.")
    system: str | None = option(EMULATION, "--system", "NAME", "A ready system: n300, t3000, galaxy, …")
    split: str | None = option(EMULATION, "--split", "RxC", "Cut each mesh over so many hosts.")
    meshes: int | None = option(EMULATION, "--meshes", "N", "So many meshes of the system.", "number")
    guard: str | None = option(
        EMULATION,
        "--guard",
        "on|off",
        "Check collectives against each other [on].",
        ("on", "off"),
        variable=contract.GUARD,
    )
    ledger: str | None = option(
        EMULATION,
        "--ledger",
        "FILE",
        "Bytes per link, collective and axis.",
        "output",
        endings=".json",
        variable=contract.LEDGER,
    )
    timeline: str | None = option(
        EMULATION,
        "--timeline",
        "FILE",
        "Trace events for Perfetto.",
        "output",
        endings=".json",
        variable=contract.TIMELINE,
    )
    record: str | None = option(
        EMULATION,
        "--record",
        "DIR",
        "What crosses into each rank, for tt-run replay and diff.",
        "output folder",
        variable=contract.RECORD,
    )
    inject: tuple[str, ...] = option(
        EMULATION,
        "--inject",
        "FAULT",
        "A fault on purpose: kill=rank:1,call=12 and others, or a file of them (YAML).",
        repeated=True,
        variable=contract.INJECT,
        needs="faults that fit",
    )
    predict: str | None = option(
        EMULATION,
        "--predict",
        "[=FILE]",
        "Predicted time on the hardware; FILE gets JSON, FILE.csv a row per operation.",
        "output",
        endings=".json .csv",
        bare="-",
        variable=contract.PREDICT,
    )
    hardware: str | None = option(
        EMULATION,
        "--hardware",
        "FILE",
        "Hardware file or system (galaxy_4u) for --predict.",
        "file",
        variable=contract.HARDWARE,
        needs="prediction",
    )
    set: tuple[str, ...] = option(
        EMULATION,
        "--set",
        "KEY=VALUE",
        "Another number of it; KEY*=FACTOR scales.",
        repeated=True,
        variable=contract.HARDWARE_SET,
        needs="prediction",
    )
    degrade: tuple[str, ...] = option(
        EMULATION,
        "--degrade",
        "LINK|CHIP",
        "Lost: a link (D0-D1), a cable of it (D0-D1:1), a chip (D5).",
        repeated=True,
        variable=contract.DEGRADE,
    )
    memory: str | None = option(
        EMULATION,
        "--memory",
        "[=FILE]",
        "Peak per device and by line; FILE gets JSON, and FILE.svg a plot.",
        "output",
        endings=".json",
        bare="-",
        variable=contract.MEMORY,
        beside=".svg",
    )
    enforce_memory: bool = option(
        EMULATION,
        "--enforce-memory",
        "",
        "What does not fit into a device is an error.",
        variable=contract.ENFORCE_MEMORY,
    )
    shapes_only: str | None = option(
        EMULATION,
        "--shapes-only",
        "[=strict]",
        "No values: any size, checked. strict: none read.",
        ("on", "strict"),
        bare="on",
        variable=contract.SHAPES_ONLY,
    )

    check_replicas: bool = option(
        EMULATION,
        "--check-replicas",
        "",
        "Before each collective, compare what devices should hold alike, weights too.",
        variable=contract.CHECK_REPLICAS,
    )

    dry_run: bool = option(LOOK, "--dry-run", "", "Print what would run, as lines to paste.")
    format: str = option(
        LOOK,
        "--format",
        "FORM",
        "shell, json or table [shell].",
        ("shell", "json", "table"),
        "shell",
        needs="something to print",
    )
    check: str = option(
        LOOK,
        "--check",
        "LEVEL",
        "Joint check of all inputs: error, warn, off [error].",
        ("error", "warn", "off"),
        "error",
    )
    check_only: bool = option(LOOK, "--check-only", "", "Stop after the check.")
    print_env: int | None = option(
        LOOK, "--print-env", "RANK", "A rank's variables and where each comes from.", "count"
    )
    shell_env: bool = option(
        LOOK,
        "--shell-env",
        "",
        "Print exports that give this shell's own python the emulation, as one process.",
        needs="emulate",
    )
    emit: str | None = option(
        LOOK,
        "--emit",
        "FORM",
        "Print a job that does this later: slurm (batch script) or mpijob (Kubernetes manifest).",
        ("slurm", "mpijob"),
    )
    explain: str | None = option(LOOK, "--explain", "CODE", "What a finding such as TTR204 means.")
    doctor: bool = option(
        LOOK, "--doctor", "", "What this machine, or each of the hosts, offers for a launch."
    )
    completion: str | None = option(
        LOOK, "--completion", "SHELL", "Completion script: bash, zsh or fish.", ("bash", "zsh", "fish")
    )
    no_config: bool = option(
        LOOK, "--no-config", "", "Ignore [tool.tt-run] of pyproject.toml and ~/.config/tt-run/config.toml."
    )
    verbose: bool = option(LOOK, "-v --verbose", "", "Say more.")
    version: bool = option(LOOK, "-V --version", "", "Versions of tt-run and mpirun.")
    help: bool = option(LOOK, "-h --help", "", "This text.")

    @property
    def program(self) -> tuple[str, ...]:
        """The program with its words; empty where none was named."""
        return self.rest

    @property
    def looks_only(self) -> bool:
        """Whether something is asked about the launch in place of it."""
        return bool(
            self.dry_run or self.check_only or self.print_env is not None or self.shell_env or self.emit
        )

    def of_tt_run(self) -> tuple[str, ...]:
        """The options that were written and that tt-run itself carries out while a job runs, so that mpirun's line has none of them."""
        alone = ("stdin", "warm", "no_warm", "debug_rank", "debugpy")
        written = (
            each for each in self.options() if each.key in self.given and each.key not in self.configured
        )
        return tuple(
            each.name
            for each in written
            if each.key in alone or (each.group == WATCH and each.key != "annotations")
        )

    def of_ranks(self) -> tuple[tuple[Option, str], ...]:
        """The options given for the emulated ranks, each with the text of its value; not those that are for others here."""
        return tuple(
            (each, _text(self.given[each.key]))
            for each in self.options()
            if each.variable and each.key in self.given and (self.emulate or each.needs == "emulate")
        )


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return "\n".join(map(str, value))
    return "1" if value is True else str(value)
