"""Commands on other hosts: through which remote shell they go, and what comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tt_run.launch import agent, process, wrapper
from tt_run.launch.agent import RemoteAgent, answer


def test_ssh_is_the_default_and_never_asks_for_a_password() -> None:
    assert RemoteAgent.chosen({}).command("h2", "true", 5) == (
        "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "h2", "true"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("environ", "words", "expected"),
    [
        ({"PRTE_MCA_plm_ssh_agent": "/opt/agent"}, (), ("/opt/agent",)),
        ({"OMPI_MCA_plm_rsh_agent": "ssh : rsh"}, (), ("ssh",)),
        ({"PRTE_MCA_plm_ssh_agent": "/a"}, ("--mca", "plm_rsh_agent", "/b -x"), ("/b", "-x")),
        ({"PRTE_MCA_plm_ssh_args": "-p 2222"}, (), ("ssh", "-p", "2222")),
        ({}, ("--gmca", "plm_ssh_args", "-v", "--prtemca", "plm_ssh_agent", "/c : rsh"), ("/c", "-v")),
        ({"PMIX_MCA_plm_ssh_agent": "/a"}, ("--mca", "btl", "self", "--mca", "plm_ssh_agent"), ("/a",)),
        ({}, ("-x", "plm_ssh_agent", "/d"), ("ssh",)),
    ],
)
def test_what_mpirun_would_use(
    environ: dict[str, str], words: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert RemoteAgent.chosen(environ, words).words == expected


def test_an_answer_that_does_not_come_is_not_waited_for() -> None:
    assert answer(("sh", "-c", "sleep 60"), 0.2).code is None


@pytest.mark.parametrize(("seconds", "patience"), [(5.5, 4), (0.5, 1), (2, 1)])
def test_all_hosts_are_asked_and_ssh_gives_up_before(
    monkeypatch: pytest.MonkeyPatch, seconds: float, patience: int
) -> None:
    monkeypatch.setattr(
        agent, "answer", lambda words, seconds: agent.Answer(0, f"{seconds} {' '.join(words)}")
    )
    said = RemoteAgent(("/bin/ssh", "-v")).ask(["h2", "h1"], "true", seconds)
    limits = f"{seconds} /bin/ssh -v -o BatchMode=yes -o ConnectTimeout={patience}"
    assert [(host, found.out) for host, found in said.items()] == [
        (host, f"{limits} {host} true") for host in ("h2", "h1")
    ]
    assert RemoteAgent(("/opt/agent",)).command("h1", "true") == ("/opt/agent", "h1", "true")
    assert RemoteAgent(("/opt/agent",)).ask([], "true", seconds) == {}


def test_a_remote_shell_that_is_missing() -> None:
    said = RemoteAgent(("/no/such/agent",)).ask(["h2"], "true", 5)["h2"]
    assert said.code == 127 and "No such file" in said.err


@pytest.mark.parametrize(
    ("given", "seen"), [(None, "outside"), ({"PATH": "/bin", "WHO": "me"}, "me"), ({}, "")]
)
def test_a_command_sees_the_environment_that_it_is_given(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str] | None, seen: str
) -> None:
    monkeypatch.setenv("WHO", "outside")
    assert answer(("/bin/sh", "-c", 'printf %s "$WHO"; printf no >&2; exit 3'), 30, given).out == seen
    assert (said := answer(("/bin/sh", "-c", "printf no >&2; exit 3"), 30)).code == 3 and said.err == "no"


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("here", [True, False])
def test_a_wrapper_is_tied_to_its_parent_where_both_are_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, here: bool, there: bool
) -> None:
    """On other hosts it ties itself, since nobody knows what programs they have; here that saves one start."""
    setpriv = tmp_path / "setpriv"
    if there:
        setpriv.touch(mode=0o755)
    monkeypatch.setattr(process, "SETPRIV", (str(setpriv),))
    words = wrapper.wrapper_words(Path("/run"), 2, here=here)
    plain = ("/bin/sh", f"/run/launch/{wrapper.SCRIPT}", "/run", "2")
    tied = (str(setpriv), "--pdeathsig", "KILL", *plain, wrapper.TIED)
    assert words == (tied if here and there else plain)
