"""Lost hosts: read from what Open MPI says, told with the ranks that ran there, and kept apart from failures of ranks."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.tt_run.supervise.test_verdict import ENDED
from tt_run.contract import Exit
from tt_run.launch.agent import RemoteAgent
from tt_run.supervise.status import RankStatus
from tt_run.supervise.verdict.lost_hosts import LostHost, ask_unnamed, read_lost_hosts
from tt_run.supervise.verdict.verdict import judge

GONE_5 = """
PRTE has lost communication with a remote daemon.

  HNP daemon   : [prterun-h1-26@0,0] on node h1
  Remote daemon: [prterun-h1-26@0,2] on node h3

This is usually due to either a failure of the TCP network
\x00"""
GONE_4 = """ORTE has lost communication with a remote daemon.

  HNP daemon   : [[61123,0],0] on node h1
  Remote daemon: [[61123,0],2] on node h3
"""
NEVER_UP = """A daemon failed to report back after being spawned. This could
be due to several factors
  Local host:    h1
  Remote host:   h9.cluster
  Daemon exit status: 255
"""


@pytest.mark.parametrize(
    ("said", "hosts"),
    [
        (GONE_5, [LostHost("h3", True)]),
        (GONE_4, [LostHost("h3", True)]),
        (GONE_5 + GONE_5, [LostHost("h3", True)]),
        (NEVER_UP, [LostHost("h9.cluster", False, 255)]),
        (NEVER_UP + GONE_5, [LostHost("h9.cluster", False, 255), LostHost("h3", True)]),
        ("Remote host:   h9\n", []),
        ("", []),
    ],
)
def test_hosts_are_read_from_mpirun(said: str, hosts: list[LostHost]) -> None:
    assert list(read_lost_hosts(said)) == hosts


def running(rank: int, host: str) -> RankStatus:
    return RankStatus(rank, host=host, start=1.0)


def test_a_lost_host_is_named_with_its_ranks_alone() -> None:
    statuses = [running(0, "h1"), running(1, "h2"), running(2, "h3.cluster"), running(3, "h3.cluster")]
    verdict = judge(statuses, ENDED, {}, True, [LostHost("h3", True)])
    assert (verdict.exit_code, verdict.sentence) == (Exit.HOST_LOST, "host h3 was lost; ranks 2-3 ran there")


def test_a_host_that_was_never_reached() -> None:
    verdict = judge([RankStatus(0), RankStatus(1)], ENDED, {}, True, [LostHost("h9", False)])
    assert verdict.exit_code == Exit.HOST_LOST
    assert verdict.sentence == "host h9 could not be reached: no launcher daemon reported back"
    told = judge([RankStatus(0)], ENDED, {}, True, [LostHost("h9", False, 255)]).sentence
    assert told.endswith("no launcher daemon reported back (exit status 255)")


@pytest.mark.parametrize(
    ("ssh", "why"),
    [
        (
            "ssh: Could not resolve hostname h9.cluster: Name or service not known",
            "the name does not resolve",
        ),
        ("ssh: connect to host h9.cluster port 22: Connection refused", "no ssh daemon listens there"),
        ("ssh: connect to host h9.cluster port 2222: Connection timed out", "it does not answer ssh"),
        ("ssh: connect to host h9.cluster port 22: No route to host", "it does not answer ssh"),
        ("me@h9.cluster: Permission denied (publickey,password).", "ssh does not let this user in"),
    ],
)
def test_what_ssh_says_is_the_reason(ssh: str, why: str) -> None:
    def told(said: str) -> str:
        return judge([RankStatus(0)], ENDED, {}, True, read_lost_hosts(said)).sentence

    assert told(f"{ssh}\n{NEVER_UP}") == f"host h9.cluster could not be reached: {why}"
    two = f"{ssh}\n{ssh.replace('h9.cluster', 'h10')}\n"
    assert told(two + NEVER_UP) == f"hosts h9.cluster, h10 could not be reached: {why}"
    mixed = f"{ssh}\nssh: connect to host h10 port 22: Connection refused\n{NEVER_UP}"
    if why != "no ssh daemon listens there":
        assert told(mixed).endswith(f"reached: h9.cluster: {why}; h10: no ssh daemon listens there")
    assert read_lost_hosts(ssh) == (), "ssh of a program's own is no loss of a host"


def test_a_host_where_a_rank_ran_was_reached_whatever_mpirun_says() -> None:
    verdict = judge([running(0, "h1"), running(1, "h9")], ENDED, {}, True, [LostHost("h9", False)])
    assert verdict.sentence == "host h9 was lost; rank 1 ran there"


@pytest.mark.parametrize(
    ("end", "record"),
    [
        ({"signal": 15}, {}),
        ({"signal": 9}, {}),
        ({"code": 14}, {}),
        (
            {"code": 1},
            {
                "exception": "GuardError",
                "message": "rank 2 is gone",
                "guard": {"code": "TTG002", "culprits": [2]},
            },
        ),
        ({"code": 1}, {"exception": "Exception", "message": "MPI_ERR_PROC_FAILED"}),
    ],
)
def test_what_follows_from_a_loss_is_no_failure(end: dict[str, int], record: dict[str, object]) -> None:
    statuses = [RankStatus(0, host="h1", start=1.0, end=2.0, **end), running(1, "h2"), running(2, "h3")]
    verdict = judge(statuses, ENDED, {0: record} if record else {}, True, [LostHost("h3", True)])
    assert verdict.exit_code == Exit.HOST_LOST
    assert [status.rank for status in verdict.victims] == [0]


def test_a_rank_that_failed_by_itself_stays_the_culprit() -> None:
    failed = RankStatus(0, host="h1", start=1.0, end=2.0, code=1)
    record = {"exception": "ValueError", "message": "no good"}
    verdict = judge([failed, running(1, "h3")], ENDED, {0: record}, True, [LostHost("h3", True)])
    assert (verdict.exit_code, verdict.culprit) == (1, failed)


@pytest.mark.parametrize("end", [2.0, 2.302])
def test_a_peer_that_saw_the_connection_close_does_not_hide_the_quitter(end: float) -> None:
    statuses = [
        RankStatus(0, host="h1", start=1.0, end=2.6, signal=15),
        RankStatus(1, host="h2", start=1.0, end=end, code=0),
        RankStatus(2, host="h3", start=1.0, end=2.3, code=14),
    ]
    verdict = judge(statuses, ENDED, {}, True)
    assert verdict.sentence.startswith("rank 1 on h2 ended with 0 but without MPI_Finalize")


def test_a_killed_rank_is_no_lost_host_though_another_left_no_record() -> None:
    """mpirun kills a wrapper a quarter of a second after it has asked it to end."""
    statuses = [
        running(0, "h1"),
        RankStatus(1, host="h2", start=1.0, end=2.003, signal=9),
        RankStatus(2, host="h3", start=1.0, end=2.0, code=14),
    ]
    verdict = judge(statuses, dataclasses.replace(ENDED, launcher_code=14), {}, True)
    assert verdict.sentence == "rank 1 on h2 was killed by SIGKILL"
    assert judge(statuses, ENDED, {}, True).exit_code == Exit.HOST_LOST


@pytest.mark.parametrize(("torn", "code"), [(2.5, 137), (1.9, 139)])
def test_a_rank_that_was_killed_before_mpirun_crashed_is_the_culprit(torn: float, code: int) -> None:
    """Open MPI 4.1 may crash on its way out; ranks that end with it were not the reason."""
    statuses = [running(0, "h1"), RankStatus(1, host="h2", start=1.0, end=2.0, signal=9)]
    seen = dataclasses.replace(ENDED, launcher_code=-11, torn_down_at=torn)
    assert judge(statuses, seen, {}, True).exit_code == code


def test_a_host_with_a_short_and_a_full_name_is_one() -> None:
    said = NEVER_UP.replace("h9.cluster", "h9") + "ssh: Could not resolve hostname h9.cluster: no\n"
    assert read_lost_hosts(said) == (LostHost("h9.cluster", False, 255, "the name does not resolve"),)


UNNAMED = "ORTE was unable to reliably start one or more daemons."


@pytest.mark.parametrize(
    ("codes", "said", "lost"),
    [
        ({"a": 0, "b": 255}, UNNAMED, [("b", 255)]),
        ({"a": 1, "b": 0}, UNNAMED, []),
        ({"a": 1, "b": 0}, f"{UNNAMED}\nbash: line 1: orted: command not found", [("a", None)]),
        ({"a": 127, "b": 0}, f"{UNNAMED}\nsh: 1: orted: not found", [("a", None)]),
        ({"a": 2, "b": 1}, f"{UNNAMED}\nsh: 1: orted: not found", [("a", 2)]),
        ({"a": 255, "b": 255}, "all is well", []),
    ],
)
def test_a_host_that_mpirun_does_not_name_is_asked_for(
    tmp_path: Path, codes: dict[str, int], said: str, lost: list[tuple[str, int | None]]
) -> None:
    shell = tmp_path / "shell"
    ends = "".join(f"[ $1 = {host} ] && exit {code}\n" for host, code in codes.items())
    shell.write_text(f"#!/bin/sh\n{ends}exit 9\n")
    shell.chmod(0o755)
    agent = RemoteAgent((str(shell),), "a test")
    found = ask_unnamed(said, agent, ["here", *codes], "here")
    assert [(host.name, host.code) for host in found] == lost
