"""What the launcher and the emulated runtime share. Neither imports the other; both import this.

Names of environment variables, names of the files of a run folder, exit codes; the signal that asks a rank where it is.
"""

from __future__ import annotations

import enum
import os

# --- environment of a rank: set by the launcher, read by the runtime (reference launcher 0.81.1) -----------------
MESH_GRAPH_DESC_PATH = "TT_MESH_GRAPH_DESC_PATH"
MESH_ID = "TT_MESH_ID"
MESH_HOST_RANK = "TT_MESH_HOST_RANK"
VISIBLE_DEVICES = "TT_VISIBLE_DEVICES"
METAL_CACHE = "TT_METAL_CACHE"
METAL_HOME = "TT_METAL_HOME"
METAL_LOGS_PATH = "TT_METAL_LOGS_PATH"
METAL_RUNTIME_ROOT = "TT_METAL_RUNTIME_ROOT"
MOCK_CLUSTER_DESC_PATH = "TT_METAL_MOCK_CLUSTER_DESC_PATH"
SLOW_DISPATCH = "TT_METAL_SLOW_DISPATCH_MODE"
RANK = "TT_RUN_RANK"
ORIGINAL_CWD = "TT_RUN_ORIGINAL_CWD"
SUBCONTEXT_ID = "TT_RUN_SUBCONTEXT_ID"
SUBCONTEXT_SIZES = "TT_RUN_SUBCONTEXT_SIZES"

# --- ours --------------------------------------------------------------------------------------------------------------
ARITHMETIC = "TT_RUN_ARITHMETIC"
EMULATE = "TT_RUN_EMULATE"
DEVICE_IDS = "TT_RUN_DEVICE_IDS"
CLUSTER_TYPE = "TT_RUN_CLUSTER_TYPE"
RUN_DIR = "TT_RUN_DIR"
WORLD_SIZE = "TT_RUN_WORLD_SIZE"
SYSTEM = "TT_RUN_SYSTEM"
DEFAULT_SYSTEM = "t3000"  # is emulated where nobody names one
GUARD = "TT_RUN_GUARD"
GUARD_TIMEOUT = "TT_RUN_GUARD_TIMEOUT"
GUARD_SECONDS = 60.0  # where that is not set
OFF = ("off", "0", "no", "false")  # what says no in a variable
CHECK_REPLICAS = "TT_RUN_CHECK_REPLICAS"
DENSE_MEMORY = "TT_RUN_DENSE_MEMORY"
EXIT_TIMEOUT = "TT_RUN_EXIT_TIMEOUT"
WARM_FD = "TT_RUN_WARM_FD"
RANK_PROCESS = "TT_RUN_RANK_PROCESS"
LEDGER = "TT_RUN_LEDGER"
TIMELINE = "TT_RUN_TIMELINE"
INJECT = "TT_RUN_INJECT"
RECORD = "TT_RUN_RECORD"
RECORD_LIMIT = "TT_RUN_RECORD_LIMIT"
REPLAY = "TT_RUN_REPLAY"
REPLAY_HOW = "TT_RUN_REPLAY_HOW"
PREDICT = "TT_RUN_PREDICT"
HARDWARE = "TT_RUN_HARDWARE"
HARDWARE_SET = "TT_RUN_HARDWARE_SET"
DEGRADE = "TT_RUN_DEGRADE"
MESH_SHAPE = "TT_RUN_MESH_SHAPE"
MEMORY = "TT_RUN_MEMORY"
ENFORCE_MEMORY = "TT_RUN_ENFORCE_MEMORY"
SHAPES_ONLY = "TT_RUN_SHAPES_ONLY"
STRICT = "TT_RUN_STRICT"
PYTEST_RESULTS = "TT_RUN_PYTEST_RESULTS"
PYTEST_ARCH = "TT_RUN_PYTEST_ARCH"


VARIABLES: dict[str, tuple[str, str, str]] = {
    ARITHMETIC: ("user", "runtime", "`float32`: training computes in float32 throughout; `bfloat16` (default): as devices do"),
    CHECK_REPLICAS: ("user", "runtime", "`1`: before each collective, compare hashes of what devices should hold alike, trained weights too; `--check-replicas` sets it"),
    DENSE_MEMORY: ("user", "runtime", "memory of a rank for numbers as float32, such as `4GiB` (40 % of the host's, shared by its ranks); beyond it, tensors take what they take on a device"),
    EXIT_TIMEOUT: ("user", "programs", "seconds that what a Python rank does at its end may take after an uncaught exception (10; 0: no limit)"),
    GUARD: ("user", "runtime", "`off`: ranks do not compare what they are about to call; `--guard off` sets it"),
    GUARD_TIMEOUT: ("user", "runtime", "seconds a rank waits for its peers in one call before it reports (60)"),
    LEDGER: ("user", "runtime", "file for bytes, messages and hops per link, device, axis and collective; `--ledger` sets it"),
    HARDWARE: ("user", "runtime", "hardware file for predictions in place of the shipped one; `--hardware` sets it"),
    HARDWARE_SET: ("user", "runtime", "lines KEY=VALUE or KEY*=FACTOR, other numbers for predictions; `--set` sets it"),
    DEGRADE: ("user", "runtime", "links and chips that are lost, one on each line: `D0-D1`, `D0-D1:1` (one cable), `D5`; `--degrade` sets it"),
    PREDICT: ("user", "runtime", "file for the predicted times, `-` for the report alone; `--predict` sets it"),
    INJECT: ("user", "runtime", "faults on purpose, one on each line; `--inject` sets it for emulated ranks"),
    RECORD: ("user", "runtime", "folder for what crosses into each rank, to replay one alone; `--record` sets it"),
    RECORD_LIMIT: ("user", "runtime", "bytes of a rank's record at which it stops growing (8 GiB)"),
    REPLAY: ("launcher", "runtime", "the record that the process is to be fed from; `tt-run replay` sets it"),
    REPLAY_HOW: ("launcher", "runtime", "JSON: where a replay stops, and who debugs it; `tt-run replay` sets it"),
    MESH_SHAPE: ("user", "runtime", "`any`: a training mesh need not be a rectangle of the descriptor's; `fit` (default)"),
    MEMORY: ("user", "runtime", "file for the account of each device's memory (JSON, and a plot as SVG), `-` for the report alone; `--memory` sets it"),
    ENFORCE_MEMORY: ("user", "runtime", "`1`: a tensor that does not fit into the memory of a device is an error, as on the device; `--enforce-memory` sets it"),
    SHAPES_ONLY: ("user", "runtime", "`on` (or `1`): tensors have shapes and placements but no values; `strict`: reading a value is an error; `--shapes-only` sets it"),
    STRICT: ("user", "runtime", "`1`: what the reference demands before a collective (fabric set before the mesh is opened, …) is an error"),
    SYSTEM: ("user", "runtime", "the system that a process alone emulates when no descriptor is named, such as `t3000`"),
    TIMELINE: ("user", "runtime", "file for a trace that Perfetto opens; `--timeline` sets it"),
    SLOW_DISPATCH: ("user", "runtime", "if set, traces are refused, as on a device without fast dispatch"),
    "TT_GH_CI_INFRA": ("user", "launcher", "if set, the fixture `is_ci_v2_env` of the pytest plugin is true"),
    "TTNN_OPERATION_TRACE_DIR": ("user", "runtime", "folder for the files of `ttnn.operation_tracer`"),
    "TTNN_CONFIG_PATH": ("user", "runtime", "JSON file of settings for `ttnn.CONFIG`"),
    "TTNN_CONFIG_OVERRIDES": ("user", "runtime", "JSON text of settings for `ttnn.CONFIG`, over those of the file"),
    METAL_HOME: ("user", "launcher, runtime", "root of a tt-metal checkout: relative paths of inputs and configurations are also looked for there"),
    METAL_RUNTIME_ROOT: ("user", "runtime, device runtime", "root of the installed runtime; `TT_METAL_HOME` when unset"),
    "TT_METAL_FACTORY_SYSTEM_DESCRIPTOR_PATH": ("launcher", "device runtime", "the binding file's factory system descriptor"),
    "TT_METAL_CLUSTER_ID": ("launcher", "device runtime", "never taken from the shell: it belongs to one rank"),
    "TT_METAL_PROFILER_DIR": ("launcher", "runtime, device runtime", "folder of a rank for the profiler's files (`--tracy`)"),
    "TT_METAL_VISIBLE_DEVICES": ("user", "launcher", "the old name of TT_VISIBLE_DEVICES: warned about, limits nothing"),
    MESH_GRAPH_DESC_PATH: ("launcher", "runtime, device runtime", "the descriptor of the mesh graph"),
    MESH_ID: ("launcher", "runtime, device runtime", "which mesh of the descriptor the rank belongs to"),
    MESH_HOST_RANK: ("launcher", "runtime, device runtime", "which host of that mesh the rank is"),
    VISIBLE_DEVICES: ("launcher", "runtime, device runtime", "the devices of its host that the rank sees"),
    METAL_CACHE: ("launcher", "device runtime", "kernel cache, a folder for each rank"),
    METAL_LOGS_PATH: ("launcher", "device runtime", "logs, a folder for each rank"),
    MOCK_CLUSTER_DESC_PATH: ("launcher", "device runtime", "cluster descriptor that stands for the hardware"),
    RANK: ("launcher", "device runtime", "number of the rank"),
    ORIGINAL_CWD: ("launcher", "device runtime", "the folder in which tt-run was called"),
    SUBCONTEXT_ID: ("launcher", "runtime, device runtime", "which part of a job of several the rank belongs to"),
    SUBCONTEXT_SIZES: ("launcher", "runtime, device runtime", "the number of ranks of each part"),
    EMULATE: ("launcher", "programs", "`1`: the emulated `ttnn` and `ttml` come first on PYTHONPATH"),
    RUN_DIR: ("launcher", "launcher, runtime", "the run folder, for status, logs and failures"),
    PYTEST_RESULTS: ("launcher", "launcher", "in the ranks of a test: the folder to which each writes what became of it"),
    PYTEST_ARCH: ("launcher", "launcher", "in tests: what the pytest plugin has set `ARCH_NAME` to"),
    CLUSTER_TYPE: ("launcher", "runtime", "the kind of the rank's machine, as in `ttnn.cluster.ClusterType`, where a mock cluster describes it"),
    DEVICE_IDS: ("launcher", "runtime", "the ids of the rank's devices, row by row of its block, where a mock cluster describes the chips"),
    WARM_FD: ("launcher", "programs", "in the process from which the ranks of a host are forked, until it has read it: the socket on which it is asked"),
    RANK_PROCESS: ("launcher", "runtime", "in what a rank has started, once it has met the others: the number of its process"),
    WORLD_SIZE: ("launcher", "runtime", "how many ranks the plan has; another number in MPI is an error, not a surprise"),
}  # fmt: skip
"""Every variable beginning with TT_ or TTNN_ that the code reads or sets: who sets it (user or launcher), who reads it (launcher, runtime, that
is the emulated one, device runtime, programs), what it means."""

EXIT_SEEN = "_tt_run_exit"
"""Attribute of `sys`, set by the launcher's Python hook when a program ends by a SystemExit that nobody caught: (code, text, (file, line))."""

# --- files of a run folder ---------------------------------------------------------------------------------------------
STATUS_FILE = (
    "rank-{rank:04d}.status"  # written by the wrapper: lines NAME=VALUE (rank host pid start end exit|signal)
)
STDOUT_FILE = "rank-{rank:04d}.out"
STDERR_FILE = "rank-{rank:04d}.err"
STACKS_FILE = "rank-{rank:04d}.stacks"  # faulthandler output on SIGUSR1
FAILURE_FILE = (
    "rank-{rank:04d}.failure.json"  # written by the rank itself: exception, file, line, last collective
)
CHILD_FAILURE_FILE = "rank-{rank:04d}.child-failure.json"  # the same of a Python that the rank has started
INJECTED_FILE = "rank-{rank:04d}.injected"  # one JSON object for each fault that --inject caused
ENDING_FILE = (
    "rank-{rank:04d}.ending"  # of a rank at the end of its program: pid=NUMBER mpi=never|open|finalized
)
FIRST_START_FILE = "first-start"  # in the folder of a later start of a run: the name of the first one's
WAIT_FILE = "rank-{rank:04d}.wait"  # JSON, there while a rank waits long for others: call, number, site, since, missing
PLACE_FILE = "rank-{rank:04d}.place"  # text: where an emulated rank was last seen (of jobs on several hosts), its last call, and how many
EXIT_HANDLERS_FILE = "rank-{rank:04d}.atexit"  # one JSON object for each exception in an exit handler
DEBUGGERS_FILE = "launch/debug"  # a line for each rank that has a debugger: RANK terminal, or RANK PORT
STOPPED_FILE = "debugging"  # there while a rank is stopped in its debugger; holds the number of its process
PLAN_FILE = "plan.json"
PACKS_FOLDER = "packs"  # links to packed numbers that ranks of a machine share, a folder for each machine; gone after a run


class Exit(enum.IntEnum):
    """Exit codes of tt-run. A failed program's own code is passed on instead when its ranks ended with one."""

    OK = 0
    FAILED = 1  # ranks failed without a code of their own to pass on, or a folder cannot be used
    USAGE = 2  # the command line
    REFUSED = 65  # the joint check found errors; nothing was launched
    UNREADABLE = 66  # an input file is missing, unreadable or not well-formed
    NO_LAUNCHER = 69  # mpirun is missing or unusable
    INTERNAL = 70  # a bug of ours
    HOST_LOST = 75  # a host or its daemon was lost, or could not be reached
    START_TIMEOUT = 76  # ranks did not start in time
    HANG = 77  # the hang watchdog ended the run
    TIMEOUT = 124  # --timeout
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_MEANING: dict[int, str] = {
    Exit.OK: "every rank ended with 0",
    Exit.FAILED: "ranks failed without a code of their own to pass on, or a folder cannot be used",
    Exit.USAGE: "the command line is wrong",
    Exit.REFUSED: "the joint check refused the inputs; nothing was launched",
    Exit.UNREADABLE: "an input file is missing, unreadable or not well-formed; nothing was launched",
    Exit.NO_LAUNCHER: "no usable mpirun",
    Exit.INTERNAL: "a bug in tt-run",
    Exit.HOST_LOST: "a host was lost or could not be reached",
    Exit.START_TIMEOUT: "ranks did not start in time",
    Exit.HANG: "the ranks made no progress within --hang-timeout",
    Exit.TIMEOUT: "--timeout passed",
    Exit.HUNG_UP: "ended by SIGHUP",
    Exit.INTERRUPTED: "interrupted (Ctrl-C)",
    Exit.TERMINATED: "ended by SIGTERM",
}


NATIVE_CHECKS = ("TT_FATAL @", "TT_THROW @")
"""How the texts of the reference library's own checks begin."""


def ask_stacks(pid: int) -> bool:
    """Have a process of this machine write the stacks of its threads into its STACKS_FILE; False where it has no handler, or is another's.

    SIGUSR1 would end what has none: a program that has taken a rank's place, say.
    """
    import signal  # it makes enums of all numbers: no help text and no rank waits for that

    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            caught = status.read().partition(b"\nSigCgt:")[2].partition(b"\n")[0].strip()
        if not int(caught or b"0", 16) >> (signal.SIGUSR1 - 1) & 1:
            return False
        os.kill(pid, signal.SIGUSR1)
    except OSError:
        return False
    return True


def essence(message: str) -> str:
    """The line of an exception's text that says what is wrong: its first; of a native check the one after `info:`; of arguments that fit no
    signature what stands below the list of those.

    A native check writes `TT_FATAL @ file:line: condition`, `info:`, the message and perhaps a backtrace (reference library 0.81.1).
    """
    lines = message.strip().splitlines() or [""]
    if lines[0].startswith(NATIVE_CHECKS) and "info:" in lines[:-1]:
        return lines[lines.index("info:") + 1].strip()
    head, misfit, _ = lines[0].partition("incompatible function arguments")
    if misfit and len(lines) > 1:
        reason = [line for line in lines[1:] if line.strip() and not line.startswith(("help: ", " "))][-1:]
        return f"{head}{misfit}: {reason[0].strip()}" if reason else lines[0]
    return lines[0]
