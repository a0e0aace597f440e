"""Faults in a rank on purpose: a listener that acts before a call, or at a time. `tt_run.faults` says which there are.

Every fault is written to the run folder before it happens, so that the report can say what was injected and whether the verdict found it.
Nothing else in the runtime knows about it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tt_run import contract
from tt_run.faults import ANY_TIME, Fault, read_faults
from tt_run.runtime import events
from tt_run.runtime.comm.world import world
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

_SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "stop": signal.SIGSTOP}
_KINDS = ("op", "collective", "send", "recv")


@dataclass
class Injector:
    """The faults of one rank, what it has called so far, and where faults are written down (None: nowhere)."""

    rank: int
    faults: list[Fault]
    record: Path | None = None
    begun_at: float = field(default_factory=time.monotonic)
    calls: int = 0
    depth: int = 0
    by_name: Counter[str] = field(default_factory=Counter)
    spent: set[int] = field(default_factory=set)

    def start_timers(self) -> None:
        """Faults that come at a time, whatever the rank is doing then."""
        for number, fault in enumerate(self.faults):
            if fault.by_time and fault.action in ANY_TIME:
                timer = threading.Timer(fault.delay(self.rank), self._at_time, (number, fault))
                timer.daemon = True
                timer.start()

    def _at_time(self, number: int, fault: Fault) -> None:
        self.spent.add(number)
        self.note(fault, "", "")
        self.end(fault)

    def before(self, begun: events.Begun) -> events.After | None:
        """Act on the faults that this call is due for; what a call makes of calls inside it is not counted."""
        if begun.kind not in _KINDS:
            return None
        if self.depth == 0:
            self._consider(begun)
        self.depth += 1
        return self._done

    def _done(self, result: Any, error: BaseException | None) -> None:
        self.depth -= 1

    def _consider(self, begun: events.Begun) -> None:
        name = begun.name.rpartition(".")[2]
        self.calls += 1
        self.by_name[name] += 1
        site = events.call_site()
        for number, fault in enumerate(self.faults):
            if number not in self.spent and self._is_due(fault, name, site):
                if fault.action != "slow" or (fault.nth and (fault.call or fault.op)):
                    self.spent.add(number)
                self._act(fault, begun, name, site)

    def _is_due(self, fault: Fault, name: str, site: str) -> bool:
        if fault.by_time and fault.action in ANY_TIME:
            return False  # a timer has it
        if fault.call and fault.call != self.calls:
            return False
        if fault.op and (fault.op != name or (fault.nth and fault.nth != self.by_name[name])):
            return False
        if fault.site and not site.endswith(fault.site):
            return False
        return time.monotonic() - self.begun_at >= fault.delay(self.rank)

    def _act(self, fault: Fault, begun: events.Begun, name: str, site: str) -> None:
        self.note(fault, name, site)
        if fault.action == "slow":
            time.sleep(fault.seconds)
        elif fault.action == "raise":
            raise RuntimeError(f"{fault.message} (--inject {fault.text})")
        elif fault.action == "oom":
            raise fatal(f"Out of Memory: injected into {name} (--inject {fault.text})")
        elif fault.action in ("nan", "flip"):
            spoil(begun.args, fault)
        elif fault.action == "hang":
            threading.Event().wait()
        else:
            self.end(fault)

    def end(self, fault: Fault) -> None:
        """Send the signal, or leave with the code."""
        if fault.action in _SIGNALS:
            os.kill(os.getpid(), _SIGNALS[fault.action])
        else:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(fault.code)

    def note(self, fault: Fault, name: str, site: str) -> None:
        """Write down what is about to happen."""
        if self.record is None:
            return
        facts = {
            "rank": self.rank,
            "fault": fault.text,
            "action": fault.action,
            "call": self.calls,
            "op": name,
            "site": site,
            "at": time.time(),
        }
        with self.record.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(facts) + "\n")


def spoil(args: Any, fault: Fault) -> None:
    """Put a NaN into, or turn a bit over in, the first element of the first float tensor among a call's arguments.

    Raises RuntimeError when there is none: a fault that does nothing would look like one that was survived.
    """
    for value in args:
        if isinstance(value, Tensor) and value.shards.data.dtype == np.float32 and value.shards.data.size:
            data = value.shards.data.copy()
            first = data.reshape(-1)[:1]
            if fault.action == "nan":
                first[0] = np.nan
            else:
                bits = first.view(np.uint32)
                bits ^= np.uint32(1 << fault.bit)
            value.overwrite(Shards(data, value.shards.index))
            return
    raise fatal(f"--inject {fault.text}: the call has no tensor of floats")


def attach() -> None:
    """Prepare the faults that TT_RUN_INJECT names for this rank."""
    rank = world().rank
    mine = [fault for fault in read_faults(os.environ[contract.INJECT]) if fault.concerns(rank)]
    if not mine:
        return
    folder = os.environ.get(contract.RUN_DIR)
    record = Path(folder) / contract.INJECTED_FILE.format(rank=rank) if folder else None
    injector = Injector(rank, mine, record)
    events.precede(injector.before)
    injector.start_timers()
