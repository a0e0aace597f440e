"""What `tt-run --doctor` asks each host, as one line for its shell, and the answers as values.

The line is plain sh; its last part is Python for the interpreter that the ranks would use. Every fact comes back as a line NAME=VALUE, so
that a host where something is missing still answers the rest.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from mgd.lean import dataclass

# For any Python 3: imports MPI without starting it, and says which library that has loaded.
_PYTHON = """
import array, fcntl, platform, socket, struct, sys
def tell(name, value): print(name + '=' + str(value).strip(), flush=True)
tell('python', platform.python_version() + ' at ' + sys.executable)
try:
    import mpi4py
    tell('mpi4py', mpi4py.__version__)
    mpi4py.rc.initialize = False
    from mpi4py import MPI
    tell('library', MPI.Get_library_version().split(',')[0].split(chr(10))[0])
    maps = [line.split()[-1] for line in open('/proc/self/maps') if '/libmpi' in line]
    tell('libmpi', next((path for path in maps if '/libmpi.' in path), maps[0] if maps else ''))
except Exception as error:
    tell('mpi4py_error', type(error).__name__ + ': ' + str(error).split(chr(10))[0])
for number, name in socket.if_nameindex():
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            reply = fcntl.ioctl(link.fileno(), 0x8915, struct.pack('256s', name.encode()[:15]))
        tell('address.' + name, socket.inet_ntoa(reply[20:24]))
    except OSError:
        tell('address.' + name, '')
for peer in sys.argv[1:]:
    try:
        tell('peer.' + peer, socket.getaddrinfo(peer, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        tell('peer_error.' + peer, error.strerror or error)
"""
_SHELL = """
echo "began=$(date +%s.%N)"; read -r name </proc/sys/kernel/hostname; echo "host=$name"
PATH={path}:$PATH; LD_LIBRARY_PATH={library}:$LD_LIBRARY_PATH; export PATH LD_LIBRARY_PATH
launcher={launcher} daemon={daemon}
[ -x "$launcher" ] && echo "launcher=$("$launcher" --version 2>&1 | head -n 1)"
[ -x "$daemon" ] && echo "daemon=$daemon"
program=$(command -v {program}) && [ -x "$program" ] && echo "program=$program"
folder=${{TMPDIR:-/tmp}}; trial=$folder/.tt-run-doctor.$$
if (: >"$trial") 2>/dev/null; then rm -f "$trial"; echo "temporary=$folder"; else echo "temporary_error=$folder"; fi
[ -e {token} ] && echo "shared=yes"
[ -d {package} ] && echo "package=yes"
command -v {python} >/dev/null && {python} -c {code} {peers}
echo "ended=$(date +%s.%N)"
"""


@dataclass(frozen=True, slots=True)
class Question:
    """What a launch would need on a host: `daemon` is the program that mpirun starts there, `token` a file that only a
    shared folder shows, `package` the folder of tt-run, from which ranks load its Python hook and the emulation."""

    launcher: str
    daemon: str
    python: str
    program: str
    path: str
    token: Path
    package: Path
    peers: Sequence[str] = ()

    def line(self) -> str:
        """The shell line."""
        words = {
            name: shlex.quote(str(getattr(self, name)))
            for name in ("launcher", "daemon", "python", "program", "path", "token", "package")
        }
        library = shlex.quote(str(Path(self.launcher).parent.parent / "lib"))
        script = _SHELL.format(
            **words, library=library, code=shlex.quote(_PYTHON), peers=shlex.join(self.peers)
        )
        return f"/bin/sh -c {shlex.quote(script)}"


def read_facts(said: str) -> Mapping[str, str]:
    """The facts of an answer by name; other lines, such as a login greeting, are left out."""
    found: dict[str, str] = {}
    for line in said.splitlines():
        name, equals, value = line.partition("=")
        if equals and name.replace(".", "").replace("_", "").replace("-", "").isalnum():
            found[name] = value
    return found


def clock_skew(facts: Mapping[str, str], asked: float, answered: float) -> float | None:
    """Seconds by which a host's clock is surely ahead of ours (negative: behind); 0 within what the way there and back may explain."""
    try:
        began, ended = float(facts["began"]), float(facts["ended"])
    except (KeyError, ValueError):
        return None
    most, least = began - asked, ended - answered
    if least > 0:
        return least
    return min(most, 0.0)
