"""Where a launch starts: what the planner may know of the machine it runs on, as one value that tests can make up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mgd.diagnostics import Diagnostic
from mgd.lean import dataclass
from tt_run.errors import InputError
from tt_run.granted import usable_cpus


def is_file(path: Path) -> bool:
    """Whether a file is there; False also where the system does not tell: a name too long, a folder that may not be entered."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises for those


def is_dir(path: Path) -> bool:
    """Whether a folder is there, told as `is_file` tells."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises


@dataclass(frozen=True)
class Site:
    """The launching machine: its environment, working directory, name, cores and network interfaces.

    Files are read through it too, so that a test can count or refuse reads; the file system itself is the real one.
    `cwd` is free of symbolic links. `interfaces` is None when the machine does not tell (no /sys/class/net).
    """

    environ: Mapping[str, str]
    cwd: Path
    hostname: str
    cores: int
    interfaces: frozenset[str] | None = None
    is_root: bool = False
    columns: int | None = None
    """Of the terminal that standard output goes to; None where it goes elsewhere."""

    @classmethod
    def current(cls) -> Site:
        """The machine as it is now. Raises InputError when its working directory has been removed."""
        net = Path("/sys/class/net")
        try:
            cwd = Path.cwd().resolve()
        except FileNotFoundError:
            raise InputError(gone_directory()) from None
        return cls(
            environ=dict(os.environ),
            cwd=cwd,
            hostname=os.uname().nodename,
            cores=len(usable_cpus()),
            interfaces=frozenset(entry.name for entry in net.iterdir()) if net.is_dir() else None,
            is_root=hasattr(os, "geteuid") and os.geteuid() == 0,
            columns=_terminal_columns(),
        )

    def is_here(self, host: str) -> bool:
        """Whether a host is this machine, as far as its name tells."""
        own = (self.hostname, self.hostname.partition(".")[0], "localhost", "127.0.0.1", "::1")
        return host in own

    def get(self, name: str) -> str | None:
        """A variable of the environment, None when unset."""
        return self.environ.get(name)

    def read_text(self, path: Path) -> str:
        """The file as UTF-8 text, line ends untouched. Raises OSError or UnicodeDecodeError."""
        with path.open(encoding="utf-8", newline="") as stream:
            return stream.read()

    def can_make(self, folder: Path) -> bool:
        """Whether a folder can be written, or made where it does not exist yet."""
        folder = self.cwd / folder
        there = next(path for path in (folder, *folder.parents) if os.path.exists(path))  # noqa: PTH110 - Path.exists raises where a parent is closed to us
        return there.is_dir() and os.access(there, os.W_OK | os.X_OK)

    def expand_user(self, text: str) -> Path:
        """The path with a leading `~` (this environment's HOME) or `~user` expanded; variables are left alone."""
        home = self.environ.get("HOME")
        if home and (text == "~" or text.startswith("~/")):
            return Path(home + text[1:])
        return Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser raises where this leaves the text

    def which(self, word: str) -> Path | None:
        """The executable that a shell would start for the quoted `word`, or None. Words with a slash are taken from `cwd`."""
        if "/" in word:
            folders, word = [""], str(self.cwd / word)
        else:
            folders = self.environ.get("PATH", os.defpath).split(os.pathsep)
        for folder in folders:
            path = os.path.join(self.cwd, folder, word)  # noqa: PTH118 - a Path for each folder would take longer
            if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
                return Path(path)
        return None

    def shown(self, path: Path) -> str:
        """The path as messages name it: relative to the working directory where it is below it."""
        try:
            return str(path.relative_to(self.cwd))
        except ValueError:
            return str(path)


def gone_directory() -> Diagnostic:
    """The finding for a working directory that has been removed."""
    where = os.environ.get("PWD", "the launch directory")
    return Diagnostic("TTR017", f"{where} does not exist any more", help="change to another directory")


def from_here(path: Path) -> str:
    """The path as it is typed: relative to the working directory where it is below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (OSError, ValueError):
        return str(path)


def _terminal_columns() -> int | None:
    try:
        return os.get_terminal_size(1).columns or None
    except OSError:
        return None
