"""What stands before the program on a rank: gdbserver and the Tracy profiler (reference launcher 0.81.1)."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

from mgd.diagnostics import Diagnostic
from mgd.lean import dataclass
from tt_run.errors import UsageError
from tt_run.inputs.site import Site

GDBSERVER_PORT = 20_000
TRACY_PORT = 8087
MOST_PORT = 65_535
PROFILER_DIR = "TT_METAL_PROFILER_DIR"
_PYTHON = r"python[0-9.]*\Z"


@dataclass(frozen=True, slots=True)
class Tracy:
    """A profiler run: base port, output folder (absolute: ranks may change their directory), further options of tracy."""

    port: int
    folder: Path
    options: tuple[str, ...]

    def rank_folder(self, rank: int) -> Path:
        """Where the profile of a rank goes."""
        return self.folder / f"rank{rank}"


def parse_tracy(text: str, site: Site) -> Tracy:
    """The meaning of `--tracy TEXT`; the empty text is a run with defaults. Raises UsageError."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(
            Diagnostic(
                "TTR010",
                f"--tracy cannot be split into words: {error}",
                help="close the quotes: --tracy '-p 8086'",
            )
        ) from None
    home = site.get("TT_METAL_HOME") or site.get("ORIGINAL_CWD") or str(site.cwd)
    port, folder, rest = str(TRACY_PORT), str(Path(home) / "generated/profiler/ttrun"), []
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name in ("-t", "--port", "-o", "--output-folder"):
            if not equals:
                if not words:
                    kind = (
                        "port option -t/--port"
                        if name in ("-t", "--port")
                        else "output option -o/--output-folder"
                    )
                    raise UsageError(
                        Diagnostic(
                            "TTR010", f"--tracy: Tracy {kind} requires a value", help=f'--tracy "{name} …"'
                        )
                    )
                value = words.pop(0)
            if name in ("-t", "--port"):
                port = value
            else:
                folder = value
        else:
            rest.append(word)
    if not re.fullmatch(r"0*[1-9][0-9]{0,4}", port, re.ASCII) or int(port) > MOST_PORT:
        raise UsageError(
            Diagnostic(
                "TTR010",
                f"--tracy: Tracy base port must be a positive integer up to {MOST_PORT}, not {port!r}",
                help='--tracy "--port 8087"',
            )
        )
    return Tracy(int(port), site.cwd / site.expand_user(folder), tuple(rest))


def with_tracy(program: tuple[str, ...], tracy: Tracy, rank: int, site: Site) -> tuple[str, ...]:
    """The program under the profiler, each rank with its own port and folder."""
    words = (
        sys.executable,
        "-m",
        "tracy",
        "--port",
        str(tracy.port + rank),
        "-o",
        str(tracy.rank_folder(rank)),
    )
    return (*words, *tracy.options, *_profiled(program, site))


def _profiled(program: tuple[str, ...], site: Site) -> tuple[str, ...]:
    """The program as tracy wants it: without a leading interpreter; Python commands and modules as `-m name`."""
    if not program:
        return ()
    first, rest = program[0], program[1:]
    if re.match(_PYTHON, os.path.basename(first)) and rest:  # noqa: PTH119 - a word, not a path of ours
        return rest
    if "/" in first or first.endswith(".py"):
        return program
    found = site.which(first)
    if (found is not None and _is_python_script(found)) or (found is None and _is_module(first)):
        return ("-m", *program)
    return program


def _is_python_script(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            head = stream.readline(200)
    except OSError:
        return False
    return head.startswith(b"#!") and b"python" in head


def _is_module(name: str) -> bool:
    if not name.isidentifier():  # a dotted name would import its parent
        return False
    try:
        from importlib.util import find_spec

        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def with_gdbserver(argv: tuple[str, ...], rank: int) -> tuple[str, ...]:
    """The words under gdbserver, listening on its own port for each rank."""
    port = GDBSERVER_PORT + rank
    script = (
        f'echo "Rank {rank} on $(hostname) listening on :{port}"; exec gdbserver :{port} {shlex.join(argv)}'
    )
    return ("bash", "-c", script)
