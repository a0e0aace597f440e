"""Options of other launchers, and what says the same here."""

from __future__ import annotations

_COUNTS = "the rank bindings say how many ranks there are; without them --emulate --system t3000 --split 1x2 makes two"
_CODE = f"a program is its own words: tt-run … python -c 'CODE'; {_COUNTS}"
_HOSTS = "hosts are --hosts a:2,b:2, or --mpi-args '--hostfile FILE'"
_MPIRUN = "words for mpirun go into --mpi-args '{word} …'"

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
        ),
        _COUNTS,
    ),
    "-c": _CODE,
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
}


def hint_for(word: str) -> str | None:
    """What to write for an option of mpirun, torchrun or srun; None for one of nobody's."""
    found = HINTS.get(word)
    return found and found.format(word=word)
