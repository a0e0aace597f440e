"""The MPI that mpi4py of this Python will load, told by file names: importing it would cost more than a launch may."""

from __future__ import annotations

import os
import sys

# The wheels of mpi4py load whichever library stands in their environment, and only then one of the system.
_BY_FILE = (
    ("libopen-pal.so.80", "Open MPI 5.0"),
    ("libopen-pal.so.40", "Open MPI 4.1"),
    ("libmpi.so.12", "MPICH 4.0"),
)


def library_beside_python(prefix: str = sys.prefix) -> str | None:
    """What is installed beside mpi4py in the environment of a Python, e.g. "Open MPI 5.0"; None when there is none or no mpi4py."""
    folder = os.path.join(prefix, "lib")  # noqa: PTH118 - as everywhere on the way to a launch, texts are faster
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not os.path.isdir(os.path.join(folder, version, "site-packages", "mpi4py")):  # noqa: PTH112, PTH118
        return None
    for file, name in _BY_FILE:
        if os.path.exists(os.path.join(folder, file)):  # noqa: PTH110, PTH118
            return name
    return None
