"""What the launcher and the emulated runtime share. Neither imports the other; both import this.

Names of environment variables, names of the files of a run folder, exit codes.
"""

from __future__ import annotations

import enum

# --- environment of a rank: set by the launcher, read by the runtime (reference launcher 0.81.1) -----------------
MESH_GRAPH_DESC_PATH = "TT_MESH_GRAPH_DESC_PATH"
MESH_ID = "TT_MESH_ID"
MESH_HOST_RANK = "TT_MESH_HOST_RANK"
VISIBLE_DEVICES = "TT_VISIBLE_DEVICES"
METAL_CACHE = "TT_METAL_CACHE"
METAL_LOGS_PATH = "TT_METAL_LOGS_PATH"
MOCK_CLUSTER_DESC_PATH = "TT_METAL_MOCK_CLUSTER_DESC_PATH"
RANK = "TT_RUN_RANK"
ORIGINAL_CWD = "TT_RUN_ORIGINAL_CWD"
SUBCONTEXT_ID = "TT_RUN_SUBCONTEXT_ID"
SUBCONTEXT_SIZES = "TT_RUN_SUBCONTEXT_SIZES"

# --- ours --------------------------------------------------------------------------------------------------------------
EMULATE = "TT_RUN_EMULATE"  # "1": the shims are first on PYTHONPATH
RUN_DIR = "TT_RUN_DIR"  # the run folder; the files below live in it
WORLD_SIZE = (
    "TT_RUN_WORLD_SIZE"  # how many ranks the plan has; a different MPI size is an error, not a surprise
)
SYSTEM = "TT_RUN_SYSTEM"  # the system a lone process emulates when no descriptor path is set
GUARD = "TT_RUN_GUARD"  # "off": collectives carry no signature
GUARD_TIMEOUT = (
    "TT_RUN_GUARD_TIMEOUT"  # seconds a rank waits for its peers in one collective before it reports
)
LEDGER = "TT_RUN_LEDGER"  # file: bytes and hops per link, collective and axis
TIMELINE = "TT_RUN_TIMELINE"  # file: trace events for Perfetto
MESH_SHAPE = (
    "TT_RUN_MESH_SHAPE"  # "any": a training mesh need not be a rectangle of the descriptor's; row by row
)
STRICT = "TT_RUN_STRICT"  # "1": the reference's prerequisites (fabric before opening, …) are errors

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
PLAN_FILE = "plan.json"


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


def essence(message: str) -> str:
    """The line of an exception's text that says what is wrong: its first; of a native check the one after `info:`.

    A native check writes `TT_FATAL @ file:line: condition`, `info:`, the message and perhaps a backtrace (reference library 0.81.1).
    """
    lines = message.strip().splitlines() or [""]
    if lines[0].startswith(("TT_FATAL @", "TT_THROW @")) and "info:" in lines[:-1]:
        return lines[lines.index("info:") + 1].strip()
    return lines[0]
