"""What the doctor makes of a host's answer; asking real hosts is tested in tests/multihost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tt_run.cli.doctor.checks import HostAnswer, LaunchingSide
from tt_run.cli.doctor.probe import Question, clock_skew, read_facts
from tt_run.cli.doctor.report import Check
from tt_run.launch.agent import Answer

QUESTION = Question(
    "/mpi/bin/mpirun", "/mpi/bin/prted", "python3", "python3", "/usr/bin", Path("/token"), Path("/env/tt_run")
)
WELL = {
    "began": "100.0",
    "ended": "101.0",
    "host": "node1",
    "launcher": "mpirun (Open MPI) 5.0.11",
    "daemon": "/mpi/bin/prted",
    "program": "/usr/bin/python3",
    "python": "3.11.7 at /usr/bin/python3",
    "mpi4py": "4.1.2",
    "library": "Open MPI v5.0.11",
    "libmpi": "/mpi/lib/libmpi.so.40",
    "temporary": "/tmp",
    "shared": "yes",
    "package": "yes",
    "address.lo": "127.0.0.1",
    "address.eth0": "10.0.0.1",
    "peer.node2": "10.0.0.2",
}


def examine(
    changed: dict[str, str | None] | None = None, interface: str | None = None, is_python: bool = True
) -> dict[str, Check]:
    facts = {name: value for name, value in {**WELL, **(changed or {})}.items() if value is not None}
    wanted = LaunchingSide(QUESTION, (5, 0), ("ssh",), Path("/work"), interface, is_python)
    host = HostAnswer("node1", Answer(0), facts, 100.0, 101.0)
    return {check.name: check for check in host.checks(wanted)}


def test_a_host_that_has_everything() -> None:
    checks = examine()
    assert len(checks) == 12 and all(check.ok for check in checks.values())


@pytest.mark.parametrize(
    ("changed", "name", "says"),
    [
        ({"daemon": None}, "launcher", "no /mpi/bin/prted"),
        ({"launcher": "mpirun (Open MPI) 4.1.8"}, "launcher", "here 5.0"),
        ({"program": None}, "program", "not on the launching shell's PATH"),
        ({"python": None}, "Python", "absent"),
        ({"library": None, "mpi4py_error": "ImportError: no libmpi"}, "mpi4py", "ImportError: no libmpi"),
        ({"library": "Open MPI v4.1.8"}, "MPI library", "every process would be rank 0 of 1"),
        ({"library": "MPICH Version: 4.2"}, "MPI library", "every process would be rank 0 of 1"),
        ({"temporary": None, "temporary_error": "/full"}, "temporary folder", "/full is not writable"),
        ({"shared": None}, "launch folder", "does not see this machine's /work"),
        ({"address.eth0": ""}, "interface", "none with an IPv4 address"),
        ({"peer_error.node2": "unknown"}, "peers", "node2: unknown"),
        ({"peer.node2": "127.0.1.1"}, "peers", "node2 is 127.0.1.1, which is node1 itself"),
    ],
)
def test_each_thing_that_can_be_wrong(changed: dict[str, str | None], name: str, says: str) -> None:
    found = examine(changed)[name]
    assert found.ok is False and says in found.text and found.hint


def test_the_emulation_must_be_there_only_for_emulated_ranks() -> None:
    facts = {name: value for name, value in WELL.items() if name != "package"}
    for emulate, ok in ((False, None), (True, False)):
        wanted = LaunchingSide(QUESTION, (5, 0), ("ssh",), Path("/work"), emulate=emulate)
        found = {c.name: c for c in HostAnswer("node1", Answer(0), facts, 100.0, 101.0).checks(wanted)}
        assert found["tt-run"].ok is ok and found["tt-run"].hint


def test_python_need_not_be_there_for_another_program() -> None:
    assert examine({"python": None}, is_python=False)["Python"].ok is None


@pytest.mark.parametrize(
    ("interface", "says"),
    [("eth7", "eth7 does not exist; there is eth0 10.0.0.1"), ("eth0", "eth0 10.0.0.1")],
)
def test_a_named_interface(interface: str, says: str) -> None:
    assert examine(interface=interface)["interface"].text == says


@pytest.mark.parametrize(
    ("began", "ended", "skew"),
    [("100.4", "100.6", 0.0), ("105.0", "106.0", 5.0), ("90.0", "91.0", -10.0), ("99.5", "101.5", 0.5)],
)
def test_a_clock_is_wrong_only_beyond_the_time_of_the_way(began: str, ended: str, skew: float) -> None:
    assert clock_skew({"began": began, "ended": ended}, 100.0, 101.0) == pytest.approx(skew)


def test_a_clock_that_is_off_is_a_warning() -> None:
    clock = examine({"began": "200.0", "ended": "201.0"})["clock"]
    assert clock.ok is None and clock.text == "100.0 s ahead of this machine's" and clock.hint


def test_a_host_that_says_nothing() -> None:
    host = HostAnswer("node1", Answer(255, "", "ssh: connect to host node1 port 22: No route\n"), {}, 0, 1)
    [check] = host.checks(LaunchingSide(QUESTION, (5, 0), ("ssh",), Path("/work")))
    assert (check.name, check.ok, check.hint) == ("reachable", False, "try: ssh node1 true")
    assert "No route" in check.text


def test_the_question_is_answered_by_a_real_shell(tmp_path: Path) -> None:
    """Names that a shell would split or expand arrive as they are; a greeting is no fact."""
    folder = tmp_path / "a folder's $name"
    folder.mkdir()
    (folder / "token").touch()
    tool = folder / "tool"
    tool.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 5.0.11'\n")
    tool.chmod(0o755)
    question = Question(
        str(tool),
        str(tool),
        sys.executable,
        str(tool),
        "/usr/bin:/bin",
        folder / "token",
        folder,
        ["localhost"],
    )
    said = subprocess.run(
        ["sh", "-c", f"echo welcome = all; {question.line()}"], capture_output=True, timeout=60
    )
    facts = read_facts(said.stdout.decode())
    assert facts["launcher"] == "mpirun (Open MPI) 5.0.11"
    assert facts["program"] == facts["daemon"] == str(tool)
    assert facts["shared"] == facts["package"] == "yes" and facts["peer.localhost"] in ("127.0.0.1", "::1")
    assert facts["python"].endswith(sys.executable) and float(facts["began"]) <= float(facts["ended"])
    assert "welcome " not in facts
