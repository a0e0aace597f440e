"""The first meeting of ranks on several hosts, with a barrier that comes through when the test says so."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run import contract
from tt_run.runtime.comm.arrival import ENDED_EARLY, NOT_COME, NOT_STARTED, NotArrived
from tt_run.runtime.guard import first_meeting


class Sign:
    """That of a rank whose host has so many; it notes what it is asked."""

    def __init__(self, local_size: int, missing: list[int]) -> None:
        self.local_size, self._missing = local_size, missing
        self.asked: list[Any] = []

    def await_others(self, seconds: float, call: str, tell: Callable[[list[int]], None]) -> None:
        self.asked.append((seconds, call))
        tell(self._missing)


def ranks_of(size: int, sign: Sign | None, through: Callable[[], bool]) -> Any:
    barrier = SimpleNamespace(Test=through)
    return SimpleNamespace(
        rank=0,
        size=size,
        arrive=lambda: sign,
        mpi=SimpleNamespace(COMM_WORLD=SimpleNamespace(Ibarrier=lambda: barrier)),
    )


@pytest.fixture(autouse=True)
def job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The run folder of a job of which ranks 0 and 1 are here; who waits is told at once."""
    for name, value in (
        (contract.RUN_DIR, str(tmp_path)),
        (contract.GUARD_TIMEOUT, "30"),
        ("OMPI_COMM_WORLD_RANK", "0"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
    ):
        monkeypatch.setenv(name, value)
    for rank in (0, 1):
        (tmp_path / f"rank-{rank:04d}.status").write_text("host=here\n")
    monkeypatch.setattr(first_meeting, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(first_meeting, "_GRACE", 0.1)
    monkeypatch.setattr("tt_run.runtime.guard.long_wait.LONG_SECONDS", 0.02)
    return tmp_path


def mine(folder: Path) -> Path:
    return folder / contract.WAIT_FILE.format(rank=0)


def tell(folder: Path, rank: int, call: str) -> None:
    facts = {"call": call, "number": 0, "site": f"p.py:{rank}", "waited": 4.0, "missing": [2]}
    (folder / contract.WAIT_FILE.format(rank=rank)).write_text(json.dumps(facts))


def told_in(folder: Path, sign: Sign | None, call: str) -> dict[str, Any]:
    """What rank 0 of four says of its wait for those of other hosts, who come once it has said so."""
    told: list[dict[str, Any]] = []

    def through() -> bool:
        if mine(folder).exists():
            told.append(json.loads(mine(folder).read_text()))
        return bool(told and told[-1]["missing"])

    first_meeting.await_all(ranks_of(4, sign, through), call)
    assert not mine(folder).exists(), "told while it lasts"
    return told[-1]


def test_where_all_are_on_this_host_its_signs_are_enough() -> None:
    sign = Sign(2, [1])
    first_meeting.await_all(ranks_of(2, sign, lambda: pytest.fail("asked MPI")), "MPI recv at p.py:3")
    assert sign.asked == [(30, "MPI recv at p.py:3")]


@pytest.mark.parametrize("sign", [None, Sign(2, [])])
def test_ranks_of_other_hosts_are_waited_for_in_mpi(job: Path, sign: Sign | None) -> None:
    facts = told_in(job, sign, "MPI Bcast at p.py:3")
    assert (facts["call"], facts["site"], facts["missing"]) == ("MPI Bcast", "p.py:3", [2, 3])
    assert 0.02 <= facts["waited"] < 30


def test_the_start_of_the_runtime_is_told_by_its_line(job: Path) -> None:
    facts = told_in(job, None, "")
    assert facts["call"] == "the start of the runtime" and facts["site"].startswith(f"{__file__}:")


@pytest.mark.parametrize(
    ("size", "waiting", "call", "code", "words", "culprits"),
    [
        (4, {}, "", NOT_STARTED, "one of ranks 2, 3, on other hosts, did not start the runtime within 0.1 s", (2, 3)),
        (3, {}, "", NOT_STARTED, "rank 2, on another host, did not start the runtime within 0.1 s", (2,)),
        (4, {2: "the start of the runtime"}, "", NOT_STARTED, "rank 3, on another host, did not", (3,)),
        (4, {2: "MPI Bcast"}, "", NOT_STARTED, "one of ranks 2, 3, on other hosts, did not", (2, 3)),
        (4, {2: "MPI Bcast"}, "MPI Bcast at p.py:3", NOT_COME, "rank 3, on another host, did not come to MPI Bcast at p.py:3", (3,)),
        # Who all wait there themselves cannot be told from each other.
        (4, {2: "MPI Bcast", 3: "MPI Bcast"}, "MPI Bcast", NOT_COME, "one of ranks 2, 3, on other hosts,", (2, 3)),
    ],
)  # fmt: skip
def test_who_does_not_come_is_named(
    monkeypatch: pytest.MonkeyPatch,
    job: Path,
    size: int,
    waiting: dict[int, str],
    call: str,
    code: str,
    words: str,
    culprits: tuple[int, ...],
) -> None:
    monkeypatch.setenv(contract.GUARD_TIMEOUT, "0.1")
    for rank, where in waiting.items():
        tell(job, rank, where)
    began = time.perf_counter()
    with pytest.raises(NotArrived) as caught:
        first_meeting.await_all(ranks_of(size, None, lambda: False), call)
    assert f"error[{code}]: {words}" in str(caught.value)
    assert (caught.value.code, caught.value.culprits) == (code, culprits)
    assert time.perf_counter() - began > 0.2, "the deadline, and what other hosts get to say so"
    assert not mine(job).exists()


@pytest.mark.parametrize(("call", "ended"), [("MPI recv", [3]), ("MPI recv", [2, 3]), ("", [3])])
def test_who_has_ended_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, job: Path, call: str, ended: list[int]
) -> None:
    """Before the runtime's start it may still be a launcher of others."""
    monkeypatch.setenv(contract.GUARD_TIMEOUT, "30" if call else "0.1")
    for rank in ended:
        (job / contract.ENDING_FILE.format(rank=rank)).write_text("pid=1 mpi=open\n")
    with pytest.raises(NotArrived) as caught:
        first_meeting.await_all(ranks_of(4, None, lambda: False), call)
    if call:
        told = ", ".join(map(str, ended))
        assert f"error[{ENDED_EARLY}]: rank {told} ended before MPI recv" in str(caught.value)
        assert caught.value.culprits == tuple(ended)
    else:
        assert caught.value.code == NOT_STARTED


def test_without_a_run_folder_all_others_may_be_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(contract.GUARD_TIMEOUT, "0.1")
    monkeypatch.delenv(contract.RUN_DIR)
    monkeypatch.delenv("OMPI_COMM_WORLD_LOCAL_SIZE")
    with pytest.raises(NotArrived, match="one of ranks 1, 2, on other hosts, did not start the runtime"):
        first_meeting.await_all(ranks_of(3, None, lambda: False), "")


def test_naps_grow_and_looks_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_meeting, "_LOOK_SECONDS", 0.1)
    looks: list[int] = []
    over = time.perf_counter() + 0.35

    def elsewhere(ranks: Any) -> list[int]:
        looks.append(1)
        return [2, 3]

    monkeypatch.setattr(first_meeting, "_elsewhere", elsewhere)
    first_meeting.await_all(ranks_of(4, None, lambda: bool(looks) and time.perf_counter() > over), "MPI recv")
    assert 1 <= len(looks) <= 3
    naps: list[float] = []
    monkeypatch.setattr(first_meeting, "_LOOK_SECONDS", 60)
    monkeypatch.setattr(first_meeting, "time", SimpleNamespace(sleep=naps.append))
    first_meeting.await_all(ranks_of(4, None, lambda: len(naps) >= 16), "MPI recv")
    assert naps == pytest.approx([min(0.0001 * 1.5**n, 0.02) for n in range(16)])
