"""Faults of a run without emulation: what `--inject` says of times becomes a schedule for each rank.

Signals to ranks of this machine are sent from here; everything else (exits, exceptions, full disks, and signals on other hosts) is done by the
Python hook of the rank itself, which reads its part of the schedule in the run folder.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mgd.lean import dataclass, field
from tt_run import contract
from tt_run.faults import SIGNALS, Fault, over_before, starts_of
from tt_run.plan.model import LaunchPlan
from tt_run.supervise.status import StatusBoard

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

_NUMBERS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "stop": signal.SIGSTOP}


@dataclass()
class TimedFaults:
    """The faults that come at a time, for the ranks of a run. `look` sends what is due."""

    faults: Sequence[Fault]
    _begun: dict[int, float] = field(default_factory=dict)
    _sent: set[tuple[int, int]] = field(default_factory=set)

    def write(self, plan: LaunchPlan, run_dir: Path) -> None:
        """Each rank's schedule, for its hook."""
        here = os.uname().nodename
        for rank in plan.ranks:
            host = rank.host or here
            over = over_before(run_dir, rank.rank, self.faults)
            self._sent |= {(number, rank.rank) for number in over}
            due = [
                _entry(fault, rank.rank, run_dir)
                for number, fault in enumerate(self.faults)
                if number not in over and fault.concerns(rank.rank, host) and not _is_ours(fault, host, here)
            ]
            if due:
                folder = run_dir / "launch"
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                (folder / f"rank-{rank.rank:04d}.faults").write_text(json.dumps(due), encoding="utf-8")

    def look(self, board: StatusBoard) -> None:
        """Sends the signals that are due to ranks of this machine, and writes each down before."""
        here, now = os.uname().nodename, time.monotonic()
        for status in board.all():
            if not status.started or status.ended or status.pid is None or status.host != here:
                continue
            begun = self._begun.setdefault(status.rank, now)
            for number, fault in enumerate(self.faults):
                key = (number, status.rank)
                if (
                    key in self._sent
                    or not fault.concerns(status.rank, here)
                    or not _is_ours(fault, here, here)
                ):
                    continue
                if now - begun >= fault.delay(status.rank, len(starts_of(board.folder.path))):
                    self._sent.add(key)
                    self._send(fault, status.rank, status.pid, board.folder.path)

    def _send(self, fault: Fault, rank: int, pid: int, folder: Path) -> None:
        facts = {**_entry(fault, rank, folder), "at": time.time()}
        with (folder / contract.INJECTED_FILE.format(rank=rank)).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(facts) + "\n")
        with suppress(ProcessLookupError):
            os.kill(pid, _NUMBERS[fault.action])


def _is_ours(fault: Fault, host: str, here: str) -> bool:
    return fault.action in SIGNALS and host == here


def _entry(fault: Fault, rank: int, folder: Path) -> dict[str, Any]:
    return {
        "rank": rank,
        "fault": fault.text,
        "action": fault.action,
        "after": fault.delay(rank, len(starts_of(folder))),
        "code": fault.code,
        "message": fault.message,
        "seconds": fault.seconds,
        "call": 0,
        "op": "",
        "site": "",
    }
