"""What the report says of faults on purpose: what was dropped, and where a fault met a rank that made no call."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.tt_run.supervise.conftest import Records
from tests.tt_run.supervise.test_verdict import ENDED, rank
from tt_run.contract import Exit
from tt_run.faults import read_fault
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.observation import EndedBy, Observation
from tt_run.supervise.status import StatusBoard
from tt_run.supervise.timed_faults import TimedFaults
from tt_run.supervise.verdict.evidence import Verdict
from tt_run.supervise.verdict.injected import injected_lines, with_dropped_messages

HUNG = Verdict(Exit.HANG, "hang: no rank has made progress for 3 s: rank 0 waits for ranks 1-2")


def note(folder: Path, number: int, fault: str, op: str = "all_gather", site: str = "train.py:6") -> None:
    """What a rank writes of a fault before its fourth call."""
    action = fault.partition("=")[0]
    facts: dict[str, Any] = {"rank": number, "fault": fault, "action": action, "call": 4, "is_call": bool(op)}
    path = folder / f"rank-{number:04d}.injected"
    path.write_text(json.dumps({**facts, "op": op, "site": site}) + "\n")


def board(folder: Path) -> StatusBoard:
    """Three ranks that have not ended."""
    return StatusBoard(RunFolder(folder), 3, {number: rank(number, end=None) for number in range(3)})


def hung(by: EndedBy = EndedBy.HANG) -> Observation:
    return Observation(by, ENDED.launcher_code, 0.0, 100.0, 99.0)


@pytest.mark.parametrize(
    ("fault", "culprit"), [("drop=rank:2,call=4", 2), ("drop=link:1-2,call=4", 1), ("drop=link:*", 1)]
)
def test_a_hang_over_what_was_dropped_says_so(tmp_path: Path, fault: str, culprit: int) -> None:
    for number in (1, 2):
        note(tmp_path, number, fault)
    found = with_dropped_messages(HUNG, hung(), board(tmp_path))
    assert (
        found.sentence
        == f"hang: ranks 1-2 wait in all_gather at train.py:6 for what --inject {fault} drops on purpose"
    )
    assert found.culprit is not None and found.culprit.rank == culprit
    assert found.exit_code == Exit.HANG


def test_other_hangs_keep_their_sentence(tmp_path: Path) -> None:
    assert with_dropped_messages(HUNG, hung(), board(tmp_path)) is HUNG
    note(tmp_path, 1, "delay=rank:1")
    assert with_dropped_messages(HUNG, hung(), board(tmp_path)) is HUNG
    note(tmp_path, 1, "drop=rank:1,call=4")
    assert with_dropped_messages(HUNG, hung(EndedBy.ITSELF), board(tmp_path)) is HUNG


def test_a_fault_at_a_time_names_the_line(tmp_path: Path) -> None:
    note(tmp_path, 1, "kill=rank:1,after=1s", op="")
    assert injected_lines(tmp_path, 1)[0] == "  injected: kill of rank 1 after 4 calls, at train.py:6"


@pytest.mark.parametrize(("faults", "more"), [(5, []), (7, ["  injected: 2 more"])])
def test_five_faults_are_told(tmp_path: Path, faults: int, more: list[str]) -> None:
    for number in range(faults):
        note(tmp_path, number, f"kill=rank:{number},call=4")
    lines = injected_lines(tmp_path, 1)
    assert lines[5:-1] == more and all(" of rank " in line for line in lines[:5])


@pytest.mark.parametrize(("after", "when"), [(0.0, "from its start"), (2.5, "after 2.5 s")])
def test_a_fault_that_no_call_was_counted_for_says_its_time(tmp_path: Path, after: float, when: str) -> None:
    facts = {
        "rank": 1,
        "fault": "kill=rank:1",
        "action": "kill",
        "after": after,
        "call": 0,
        "op": "",
        "site": "",
    }
    (tmp_path / "rank-0001.injected").write_text(json.dumps(facts) + "\n")
    assert injected_lines(tmp_path, 1)[0] == f"  injected: kill of rank 1 {when}"


def test_signals_are_sent_to_the_ranks_that_have_started(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has not started, has ended, or runs elsewhere is passed over; those after it are not."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    here = os.uname().nodename
    records.size = 4
    records.status(0, host=here, start=None)
    records.status(1, host=here, pid=11, end=2.0, exit=0)
    records.status(2, host="elsewhere", pid=12)
    records.status(3, host=here, pid=13)
    faults = TimedFaults([read_fault("stop=rank:*,after=0s")])
    for _ in range(2):
        faults.look(records.board)
    assert sent == [(13, signal.SIGSTOP)]
    [noted] = injected_lines(records.folder.path, None)[:1]
    assert noted == "  injected: stop of rank 3 from its start"
