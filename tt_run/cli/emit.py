"""`tt-run --emit`: the plan as a job for a scheduler, on standard output."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from mgd.diagnostics import Diagnostic
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.idle import LOOKS
from tt_run.cli.reading.parse import words_without
from tt_run.contract import Exit
from tt_run.errors import UsageError
from tt_run.inputs.mpi_args import read_mpi_args, split_mpi_args
from tt_run.plan.emit.job import BatchJob
from tt_run.plan.model import LaunchPlan

_LOOKING = (*LOOKS, "format")
"""What the job is not to do in place of its run."""


def emit(plan: LaunchPlan, given: CommandLine, words: Sequence[str]) -> int:
    """Prints the job that carries out the command line `words` later. Raises UsageError where the scheduler cannot do it."""
    form = given.emit or ""
    if given.no_scheduler:
        raise _cannot(form, "--no-scheduler ignores the hosts that the job gets", "leave --no-scheduler out")
    folder = Path(sys.executable).parent
    if form == "slurm":
        from tt_run.plan.emit.slurm import slurm_script

        job = BatchJob(plan, words_without(words, *_LOOKING), folder, given.timeout)
        print(slurm_script(job), end="")
        return Exit.OK
    from tt_run.plan.emit.mpijob import mpijob_manifest

    args = read_mpi_args(split_mpi_args(given.mpi_args))
    if args.rankfile or args.hostfile or args.hosts:
        raise _cannot(
            form, "the names of its pods are not known yet", "write --hosts a:2,b:2 for the numbers alone"
        )
    allocates = given.mesh_graph_descriptor or given.mesh_graph_descriptor_mapping
    if allocates and not plan.emulate:
        raise _cannot(
            form, "ranks of a descriptor alone are placed on hosts by name", "write --rank-binding FILE"
        )
    job = BatchJob(plan, words_without(words, *_LOOKING, "hosts"), folder)
    if not job.nodes.is_even:
        counts = ", ".join(f"{host.name} {host.slots}" for host in plan.placement.hosts)
        raise _cannot(
            form, f"every worker has the same number of ranks, not {counts}", "give each host as many"
        )
    print(mpijob_manifest(job), end="")
    return Exit.OK


def _cannot(form: str, why: str, help: str) -> UsageError:
    return UsageError(Diagnostic("TTR023", f"--emit {form}: {why}", help=help))
