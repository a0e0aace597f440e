"""Which launcher is taken, and what it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tt_run.errors import LauncherError
from tt_run.launch import mpirun
from tt_run.launch.mpirun import Launcher, candidates, find_launcher

Make = Callable[..., Path]


@pytest.fixture(autouse=True)
def lone_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A Python that has no mpirun beside it."""
    folder = tmp_path / "python" / "bin"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    return folder


def test_the_variable_wins(executable: Make) -> None:
    named, on_path = executable("own/mpirun5"), executable("path/mpirun")
    found = find_launcher({"MPIRUN": str(named), "PATH": str(on_path.parent)})
    assert (found.path, found.source) == (str(named), "$MPIRUN")


def test_the_variable_may_be_a_word(executable: Make) -> None:
    on_path = executable("path/mpirun-mine")
    assert find_launcher({"MPIRUN": "mpirun-mine", "PATH": str(on_path.parent)}).path == str(on_path)


def test_a_wrong_variable_is_refused_and_not_ignored(executable: Make) -> None:
    on_path = executable("path/mpirun")
    with pytest.raises(LauncherError) as caught:
        find_launcher({"MPIRUN": "/no/such/mpirun", "PATH": str(on_path.parent)})
    assert "MPIRUN=/no/such/mpirun" in str(caught.value)


def test_ulfm_is_preferred_as_by_the_reference(executable: Make) -> None:
    executable("a/mpirun")
    ulfm = executable("b/mpirun-ulfm")
    path = f"{ulfm.parent.parent / 'a'}:{ulfm.parent}"
    assert find_launcher({"PATH": path}).path == str(ulfm)


def test_a_folder_of_path_that_the_system_refuses_is_passed_over(executable: Make) -> None:
    """A name that is too long stands here for a folder that an ordinary user may not enter."""
    on_path = executable("path/mpirun")
    assert find_launcher({"PATH": f"/{'x' * 300}:{on_path.parent}"}).path == str(on_path)


def test_one_on_path_comes_before_the_one_beside_python(executable: Make, lone_python: Path) -> None:
    executable(str(lone_python / "mpirun"))
    on_path = executable("path/mpirun")
    assert [c.path for c in candidates({"PATH": str(on_path.parent)})] == [
        str(on_path),
        str(lone_python / "mpirun"),
    ]


def test_a_system_wide_one_comes_after_the_one_beside_python(
    executable: Make, lone_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = executable(str(lone_python / "mpirun"))
    system = executable("usr/bin/mpirun")
    monkeypatch.setattr(mpirun, "SYSTEM_FOLDERS", (str(system.parent),))
    assert find_launcher({"PATH": str(system.parent)}).path == str(beside)


def test_no_launcher_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(LauncherError) as caught:
        find_launcher({"PATH": str(tmp_path)})
    assert caught.value.diagnostics[0].code == "TTR501"
    assert "pip install" in caught.value.diagnostics[0].help


def test_a_launcher_that_MPIRUN_names_and_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LauncherError) as caught:
        find_launcher({"PATH": "/usr/bin:/bin", "MPIRUN": str(tmp_path / "mpirun")})
    (finding,) = caught.value.diagnostics
    assert finding.code == "TTR502" and f"MPIRUN={tmp_path}/mpirun: no such executable" in finding.message
    assert "unset MPIRUN" in finding.help


def test_a_file_that_is_not_executable_is_no_launcher(tmp_path: Path) -> None:
    (tmp_path / "mpirun").write_text("")
    assert list(candidates({"PATH": str(tmp_path)})) == []


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("mpirun (Open MPI) 5.0.11", (5, 0)),
        ("mpirun (Open MPI) 4.1.6", (4, 1)),
        ("Intel(R) MPI Library 2021", None),
        ("", None),
    ],
)
def test_the_version_is_what_the_launcher_says(
    executable: Make, says: str, version: tuple[int, int] | None
) -> None:
    launcher = Launcher(str(executable("mpirun", f'#!/bin/sh\necho "{says}"\n')), "test")
    assert launcher.version == version
    assert launcher.major == (version[0] if version else None)


@pytest.mark.parametrize(
    ("file", "says", "title"),
    [
        ("mpirun", "mpirun (Open MPI) 5.0.11", "Open MPI 5.0"),
        ("mpirun", "HYDRA build details:", "MPICH"),
        ("mpirun.mpich", "HYDRA build details:", "MPICH"),  # as Debian has it beside Open MPI's files
        ("mpirun", "Intel(R) MPI Library for Linux* OS, HYDRA", "Intel MPI"),
        ("mpirun", "", "Open MPI of unknown version"),
    ],
)
def test_whose_it_is(executable: Make, file: str, says: str, title: str) -> None:
    if file != "mpirun":
        executable("orterun")
    launcher = Launcher(str(executable(file, f'#!/bin/sh\necho "{says}"\n')), "test")
    assert launcher.title == title
    assert (launcher.vendor == "Open MPI") == title.startswith("Open MPI")


@pytest.mark.parametrize(("neighbour", "major"), [("prterun", 5), ("orterun", 4)])
def test_the_major_version_is_seen_without_starting_anything(
    executable: Make, neighbour: str, major: int
) -> None:
    executable(neighbour)
    launcher = Launcher(str(executable("mpirun", "#!/bin/sh\nexit 1\n")), "test")
    assert (launcher.major, launcher.vendor) == (major, "Open MPI")
    assert "_said" not in vars(launcher)


def test_a_launcher_that_fails_has_no_version(tmp_path: Path) -> None:
    assert Launcher(str(tmp_path / "gone"), "test").version is None
