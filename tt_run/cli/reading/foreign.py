"""Options of other launchers, and what says the same here."""

from __future__ import annotations

_COUNTS = "the rank bindings say how many ranks there are; without them --emulate --system {cut} of them"
_CUTS = {
    "1": "t3000 makes 1",
    "2": "t3000 --split 1x2 makes 2",
    "4": "t3000 --split 2x2 makes 4",
    "8": "t3000 --split 2x4 makes 8",
    "16": "galaxy --split 4x4 makes 16",
    "32": "galaxy --split 8x4 makes 32",
}
"""A system and its split, by the number of ranks."""
_CODE = f"a program is its own words: tt-run … python -c 'CODE'; {_COUNTS}"
_HOSTS = "hosts are --hosts a:2,b:2, or --mpi-args '--hostfile FILE'"
_MEETING = "leave it out: one tt-run starts the ranks of all hosts, and they meet by MPI"
_MPIRUN = "words for mpirun go into --mpi-args '{words}'"
_RESTARTS = "--max-restarts 3 starts a failed run again; the program itself goes on from its last checkpoint"

HINTS: dict[str, str] = {
    **dict.fromkeys(
        (
            "-n",
            "-np",
            "--n",
            "--np",
            "--nproc",
            "--nprocs",
            "--num-procs",
            "--nproc-per-node",
            "--nproc_per_node",
            "--num-processes",
            "--num_processes",
            "--ntasks",
            "--world-size",
            "--world_size",
            "--ranks",
            "--num-ranks",
            "--num_ranks",
        ),
        _COUNTS,
    ),
    "-c": _CODE,
    **dict.fromkeys(
        ("-q", "--quiet", "-s", "--silent"),
        "--tee none keeps what ranks print in the logs; 2>/dev/null is for the rest",
    ),
    **dict.fromkeys(
        ("--color", "--colour", "--no-color", "--no-colour"),
        "colours follow the terminal: NO_COLOR=1 tt-run …, FORCE_COLOR=1 tt-run …",
    ),
    **dict.fromkeys(
        ("--json", "--output-format"), "--dry-run --format json for the plan, --report FILE for a run"
    ),
    **dict.fromkeys(
        ("-o", "--output"),
        "what ranks print is in the folder of --log-dir DIR; --report FILE is the run's account",
    ),
    **dict.fromkeys(
        ("--config", "--config-file"),
        "defaults are read from [tool.tt-run] of pyproject.toml and ~/.config/tt-run/config.toml",
    ),
    **dict.fromkeys(
        ("--devices", "--list-systems", "--systems"), "--emulate --system NAME; mgd systems lists the names"
    ),
    **dict.fromkeys(
        (
            "--standalone",
            "--node-rank",
            "--node_rank",
            "--master-addr",
            "--master_addr",
            "--master-port",
            "--master_port",
            "--rdzv-backend",
            "--rdzv_backend",
            "--rdzv-endpoint",
            "--rdzv_endpoint",
            "--rdzv-id",
            "--rdzv_id",
            "--rdzv-conf",
            "--rdzv_conf",
            "--monitor-interval",
            "--local-ranks-filter",
        ),
        _MEETING,
    ),
    **dict.fromkeys(
        ("-H", "--host", "-host", "--hostfile", "-hostfile", "--machinefile", "--nnodes", "--nodelist"),
        _HOSTS,
    ),
    **dict.fromkeys(
        (
            "--rankfile",
            "-rankfile",
            "-rf",
            "-x",
            "--bind-to",
            "--map-by",
            "--rank-by",
            "--mca",
            "-mca",
            "--prtemca",
            "--oversubscribe",
            "--allow-run-as-root",
            "--tag-output",
            "--report-bindings",
        ),
        _MPIRUN,
    ),
    **dict.fromkeys(
        ("--env", "--environment", "--setenv", "--export"),
        "variables of a rank are its env_overrides in the bindings; of all ranks global_env there, or those of this shell",
    ),
    **dict.fromkeys(("--resume", "--restart", "--restarts", "--retries", "--max_restarts"), _RESTARTS),
}


_ALONE = ("--oversubscribe", "--allow-run-as-root", "--tag-output", "--report-bindings")
"""Those that take no value."""


def hint_for(word: str, following: str = "…") -> str | None:
    """What to write for an option of mpirun, torchrun or srun, which has the `following` word; None for one of nobody's."""
    found = HINTS.get(word)
    words = (word,) if word in _ALONE else (word, following, "…") if "mca" in word else (word, following)
    return found and found.format(words=" ".join(words), cut=_CUTS.get(following, _CUTS["2"]))
