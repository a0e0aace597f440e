"""A plan as a batch script for `sbatch`."""

from __future__ import annotations

import shlex

from tt_run.plan.emit.job import BatchJob

GRACE_SECONDS = 60  # before the time limit, tt-run ends the ranks in order and reports


def slurm_script(job: BatchJob) -> str:
    """The script: `tt-run` takes its hosts from the allocation, is the process that Slurm signals, and logs by job number."""
    nodes = job.nodes
    directives = [
        f"--job-name={job.name}",
        f"--nodes={nodes.count}",
        f"--ntasks-per-node={nodes.slots}",
        f"--chdir={_directive_value(str(job.plan.cwd))}",
        "--output=slurm-%j.out",
        f"--signal=B:TERM@{GRACE_SECONDS}",
    ]
    if nodes.names:
        directives.append(f"--nodelist={','.join(nodes.names)}")
    if job.seconds is not None:
        directives.append(f"--time={int(job.seconds / 60) + 2}")
    if not job.plan.emulate:
        directives.append("--exclusive")
    exports = [f"export {name}={shlex.quote(value)}" for name, value in job.variables.items()]
    logs = "" if _logs_elsewhere(job) else ' --log-dir "tt-run-logs/slurm-$SLURM_JOB_ID"'
    lines = [
        "#!/bin/sh",
        *(f"#SBATCH {directive}" for directive in directives),
        f"# {job.counted('node')}: {nodes.why}. Submit with: sbatch FILE",
        "set -eu",
        f"PATH={shlex.quote(str(job.folder))}:$PATH",
        "export PATH",
        *job.secrets_note.splitlines(),
        *exports,
        f"exec tt-run{logs} {shlex.join(job.words)}",
    ]
    return "\n".join(lines) + "\n"


def _directive_value(text: str) -> str:
    """Slurm splits its directives at blanks unless they stand between double quotes."""
    return f'"{text}"' if any(char.isspace() for char in text) else text


def _logs_elsewhere(job: BatchJob) -> bool:
    program = len(job.words) - len(job.plan.program)
    return any(word.partition("=")[0] == "--log-dir" for word in job.words[:program])
