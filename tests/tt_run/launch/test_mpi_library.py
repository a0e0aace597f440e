"""Which MPI stands beside mpi4py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tt_run.launch.mpi_library import library_beside_python


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("libopen-pal.so.80", "Open MPI 5.0"),
        ("libopen-pal.so.40", "Open MPI 4.1"),
        ("libmpi.so.12", "MPICH 4.0"),
        ("libother.so", None),
    ],
)
def test_the_library_in_an_environment(tmp_path: Path, file: str, name: str | None) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / file).touch()
    assert library_beside_python(str(tmp_path)) is None  # no mpi4py that could load it
    (tmp_path / "lib" / version / "site-packages/mpi4py").mkdir(parents=True)
    assert library_beside_python(str(tmp_path)) == name
