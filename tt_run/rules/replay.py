"""TTP: what a replay finds, as the replayed rank tells it."""

from __future__ import annotations

from mgd.catalogue import Rule

REPLAY = (
    Rule(
        "TTP001",
        "the replay differs from the record",
        why="What a rank received depends on what it and the others had sent. A program that now makes another call, or sends other values, "
        "would have received something else, so what the record answers is no longer true.",
        help="replay the program as it was when it was recorded, or record it again; --allow-changes goes on where only values differ",
        bad="tt-run replay rec --rank 1 -- python changed.py",
    ),
    Rule(
        "TTP002",
        "the record ends before the program",
        why="The rank was killed there or waited for ever, recording stopped at its limit or on a full disk, or the program has grown.",
        help="look at the place with tt-run replay DIR --rank N --pdb; TT_RUN_RECORD_LIMIT sets how long a record may become",
    ),
    Rule(
        "TTP003",
        "no such record",
        why="The folder holds no record of that rank, or its program is not on this machine. Each rank writes on the host where it runs.",
        help="name the folder of --record, copy the rank's file from its host, or name the program after --",
        bad="tt-run replay rec --rank 9",
    ),
    Rule(
        "TTP004",
        "MPI call that is not in the record",
        why="The program uses mpi4py itself. Its calls on communicators of all kinds are recorded, in both spellings (objects and buffers), also those that are "
        "waited for later, alone or several at once, and those that are prepared and started again; so are groups, grids, graphs, probes, datatypes, "
        "windows of all kinds, and files of MPI. Spawned and joined processes, sessions and mpi4py.futures pass through "
        "a run unrecorded, which says so, and a replay has no MPI to ask.",
        help="use one of the recorded calls, or ttnn's own distributed context",
        bad='child = comm.Spawn("python", ["worker.py"])',
    ),
)
"""By ascending code."""
