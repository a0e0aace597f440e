"""When the hosts of a run are asked whether they reach each other, and what is told from what each of them says."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.contract import Exit
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.observation import EndedBy, Observation
from tt_run.supervise.status import RankStatus
from tt_run.supervise.verdict import unreachable_hosts
from tt_run.supervise.verdict.unreachable_hosts import may_be_split, never_met, split_verdict, unreached

HOSTS = ("h1", "h2", "h3", "h4")


class Asked:
    """Hosts, each of which says which others it does not reach; a host that is not named cannot be asked."""

    def __init__(self, **said: str) -> None:
        self.said = said

    def ask(self, hosts: list[str], line: str, seconds: float) -> dict[str, SimpleNamespace]:
        silent = SimpleNamespace(code=255, out="h1 h2")
        return {
            host: SimpleNamespace(code=0, out=self.said[host]) if host in self.said else silent
            for host in hosts
        }


def test_one_side_that_says_so_is_enough() -> None:
    asked = Asked(h1="", h2="h1\nh2\nunknown\n", h3="h1\n")
    assert unreached(asked, HOSTS, "desk") == [("h1", "h2"), ("h1", "h3")]  # type: ignore[arg-type]


@pytest.mark.parametrize(("count", "more"), [(4, ""), (5, "; and 1 more pair"), (6, "; and 2 more pairs")])
def test_four_pairs_are_named_and_the_others_counted(
    monkeypatch: pytest.MonkeyPatch, count: int, more: str
) -> None:
    pairs = list(combinations(HOSTS, 2))[:count]
    monkeypatch.setattr(unreachable_hosts, "unreached", lambda *_: pairs)
    statuses = [RankStatus(rank, host, start=1.0) for rank, host in enumerate(HOSTS)]
    verdict = split_verdict(Asked(), statuses)  # type: ignore[arg-type]
    assert verdict is not None and verdict.exit_code == Exit.HOST_LOST
    first = "the network between hosts is split: h1 and h2 do not reach each other (rank 0 and rank 1); "
    assert verdict.sentence.startswith(first)
    assert verdict.sentence.count("do not reach") == 4
    assert verdict.sentence.partition("(rank 1 and rank 2)")[2] == more
    assert [status.rank for status in verdict.lost] == [0, 1, 2, 3]


def rank(number: int, host: str | None = None, **how: Any) -> RankStatus:
    return RankStatus(number, host or f"h{number + 1}", start=1.0, end=10.0, **how)


def asked(
    *statuses: RankStatus, culprit: int = 0, failures: Any = None, ended_by: EndedBy = EndedBy.ITSELF
) -> bool:
    observation = Observation(ended_by, 1, 0.0, 11.0)
    return may_be_split(observation, failures or {}, statuses, statuses[culprit])


TOLD, PEER = {"signal": 15, "told": True}, {"code": 14}


@pytest.mark.parametrize("other", [TOLD, PEER])
def test_a_connection_that_mpi_gave_up(other: dict[str, Any]) -> None:
    assert asked(rank(0, **TOLD), rank(1, **other), rank(2, **PEER))


def test_ranks_that_waited_for_each_other() -> None:
    late = {1: {"guard": {"code": "TTG005", "culprits": [2]}}}
    assert asked(rank(0, code=1), rank(1, code=1), failures=late)
    assert asked(rank(0, **TOLD), rank(1, **TOLD), ended_by=EndedBy.HANG)


def test_a_failure_of_its_own_needs_no_other_reason() -> None:
    assert not asked(rank(0, code=3), rank(1, **PEER))
    assert not asked(rank(0, signal=9), rank(1, **PEER))
    assert not asked(rank(0, **TOLD), rank(1, **TOLD))


def test_nothing_lies_between_ranks_of_one_host() -> None:
    assert not asked(rank(0, "h1", **TOLD), rank(1, "h1", **PEER))


def test_ranks_that_gave_the_start_of_mpi_up(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    said = [
        "Timeout (0:02:00)!\nThread 0x1:\n",
        "ValueError: Timeout (0:02:00)!\n",
        "Timeout (0:02:00)!\n",
        "",
    ]
    for number, text in enumerate(said):
        folder.err(number).write_text(text)
    ranks = [rank(number, code=1) for number in range(4)]
    assert never_met(ranks, {2: {"exception": "ValueError"}}, folder) == [0]
