"""What is known of the MPI launcher and of the MPI that mpi4py loads; found out elsewhere, judged here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mgd.lean import dataclass

_IN_ORDER = (5, 0, 10)  # from which release on Open MPI fills hosts in the order of their list


def _unknown() -> None:
    return None


@dataclass(frozen=True, slots=True)
class LauncherFacts:
    """The launcher's path (None: there is none), its version ("5.0.11", None: it does not say), and what mpi4py loads
    ("Open MPI 5.0", None: unknown or mpi4py is absent). `release` asks for the whole version, which may start it."""

    path: Path | None = None
    version: tuple[int, ...] | None = None
    vendor: str = "Open MPI"
    mpi4py: str | None = None
    release: Callable[[], tuple[int, ...] | None] = _unknown

    def fills_itself_first(self) -> tuple[int, ...] | None:
        """Its version, if it fills the launching host before all others of a list: Open MPI before 5.0.10 does."""
        release = self.release() if self.vendor == "Open MPI" else None
        return release if release is not None and release < _IN_ORDER else None

    @property
    def major(self) -> int | None:
        """The launcher's major version."""
        return self.version[0] if self.version else None
