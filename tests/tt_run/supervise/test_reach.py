"""When the hosts of a run are asked whether they reach each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tt_run.supervise.folder import RunFolder
from tt_run.supervise.reach import may_be_split, never_met
from tt_run.supervise.status import RankStatus
from tt_run.supervise.watch import EndedBy, Observation


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
