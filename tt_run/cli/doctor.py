"""`tt-run --doctor`: what this machine offers for a launch, found out by trying it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tt_run.contract import Exit
from tt_run.errors import LauncherError
from tt_run.launch.line import build_line
from tt_run.launch.machine import Machine
from tt_run.launch.mpirun import Launcher, candidates, find_launcher
from tt_run.launch.options import LaunchOptions
from tt_run.plan.model import LaunchPlan, RankPlan

TRIAL_SECONDS = 30.0
TRIAL_RANKS = 2
_TRIAL = "from mpi4py import MPI; c = MPI.COMM_WORLD; print('ranks', c.allreduce(1), MPI.Get_library_version().split(',')[0])"
_WHICH_TTNN = "import importlib.util as u; s = u.find_spec('ttnn'); print(s.origin or list(s.submodule_search_locations)[0] if s else '')"


@dataclass(frozen=True, slots=True)
class Check:
    """One fact about the machine; `ok` is None for a fact that is neither good nor bad."""

    name: str
    ok: bool | None
    text: str


def doctor(options: Mapping[str, Any]) -> int:
    """Prints every check; exit code 0 when all of them passed."""
    checks = list(local_checks(Machine.current()))
    if options["output_format"] == "json":
        print(json.dumps([{"name": c.name, "ok": c.ok, "text": c.text} for c in checks], ensure_ascii=False))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            mark = {True: "ok  ", False: "FAIL", None: "    "}[check.ok]
            print(f"{mark} {check.name:<{width}}  {check.text}")
    return Exit.FAILED if any(check.ok is False for check in checks) else Exit.OK


def local_checks(machine: Machine) -> Iterable[Check]:
    """The checks of this machine, in the order in which a launch would need them."""
    yield Check("tt-run", None, f"{_version('tt-run')} in {Path(__file__).resolve().parents[1]}")
    yield Check("Python", None, f"{sys.version.split()[0]} at {sys.executable}")
    cores = f"{machine.cores} cores usable: more ranks than that share them"
    yield Check("cores", None, cores)
    yield _writable("temporary folder", Path(tempfile.gettempdir()))
    yield _writable("shared memory", Path("/dev/shm"))
    yield _writable("launch folder", Path.cwd())
    armed = shutil.which("setpriv")
    yield Check("setpriv", armed is not None, armed or "absent: a Python process per rank stands in for it")
    yield Check("mpi4py", _version("mpi4py") != "absent", _version("mpi4py"))
    try:
        launcher = find_launcher(machine.environ)
    except LauncherError as error:
        yield Check("mpirun", False, error.diagnostics[0].message)
        return
    number = ".".join(map(str, launcher.version)) if launcher.version else "of unknown version"
    yield Check(
        "mpirun", launcher.version is not None, f"Open MPI {number} at {launcher.path} ({launcher.source})"
    )
    for other in candidates(machine.environ):
        if other.path != launcher.path:
            yield Check("mpirun, not used", None, f"{other.path} ({other.source})")
    yield trial(launcher, machine)
    yield Check("ttnn of ranks", None, _which_ttnn(machine.environ, {}) or "absent without --emulate")
    shims = str(Path(__file__).resolve().parents[1] / "shims")
    emulated = _which_ttnn(machine.environ, {"PYTHONPATH": shims})
    yield Check("ttnn of emulated ranks", emulated.startswith(shims), emulated or "absent")


def trial(launcher: Launcher, machine: Machine) -> Check:
    """Starts two MPI ranks with the words that a launch uses, and lets them add 1 + 1."""
    ranks = tuple(RankPlan(rank, (), {}, 0) for rank in range(TRIAL_RANKS))
    plan = LaunchPlan(ranks, (sys.executable, "-c", _TRIAL), Path.cwd())
    line = build_line(plan, launcher, machine, LaunchOptions(), Path.cwd(), plan.program)
    environment = {**machine.environ, **line.environment}
    answer = _answer(line.command, environment)
    said = answer.strip().splitlines()[-1] if answer.strip() else "no answer"
    return Check("two MPI ranks", answer.count(f"ranks {TRIAL_RANKS}") == TRIAL_RANKS, said)


def _which_ttnn(environ: Mapping[str, str], extra: Mapping[str, str]) -> str:
    return _answer((sys.executable, "-c", _WHICH_TTNN), {**environ, **extra}).strip()


def _answer(command: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """What a command prints; why it could not, if it could not. Ends it, with its children, after TRIAL_SECONDS."""
    try:
        done = subprocess.run(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {TRIAL_SECONDS:.0f} s"
    except OSError as error:
        return str(error)
    return (done.stdout or done.stderr).decode(errors="replace")


def _writable(name: str, folder: Path) -> Check:
    if not folder.is_dir():
        return Check(name, False, f"{folder} does not exist")
    free = shutil.disk_usage(folder).free / 2**30
    return Check(name, os.access(folder, os.W_OK), f"{folder}, {free:.1f} GiB free")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
