"""What is known of the MPI launcher and of the MPI that mpi4py loads; found out elsewhere, judged here."""

from __future__ import annotations

from pathlib import Path

from mgd.lean import dataclass


@dataclass(frozen=True, slots=True)
class LauncherFacts:
    """The launcher's path (None: there is none), its version ("5.0.11", None: it does not say), and what mpi4py loads
    ("Open MPI 5.0", None: unknown or mpi4py is absent)."""

    path: Path | None = None
    version: tuple[int, ...] | None = None
    vendor: str = "Open MPI"
    mpi4py: str | None = None

    @property
    def major(self) -> int | None:
        """The launcher's major version."""
        return self.version[0] if self.version else None
