"""Faults in a rank on purpose: a listener that acts before a call, or at a time. `tt_run.faults` says which there are.

Every fault is written to the run folder before it happens, so that the report can say what was injected and whether the verdict found it.
Nothing else in the runtime knows about it.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tt_run import contract
from tt_run.faults import ANY_TIME, LINKS, SPOILING, Fault, over_before, read_faults, starts_of
from tt_run.runtime import events, guard, launched
from tt_run.runtime.comm.world import flush_streams, seconds_to_wait, world
from tt_run.runtime.errors import fatal
from tt_run.runtime.faults.effects import (
    fill_disk,
    floats_in,
    raise_in_main_thread,
    slow_disk,
    spoil_first_element,
)
from tt_run.runtime.faults.functions import announce
from tt_run.runtime.faults.links import BrokenLinks

_SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "stop": signal.SIGSTOP}
_TOLD = 12  # names and lines that are told of a rank which never came to a fault
_KINDS = ("op", "collective", "send", "recv")


@dataclass
class Injector:
    """The faults of one rank, what it has called so far, and where faults are written down (None: nowhere)."""

    rank: int
    faults: list[Fault]
    record: Path | None = None
    begun_at: float = field(default_factory=time.monotonic)
    calls: int = 0
    """Operations and calls, those that one makes inside another left out."""
    depth: int = 0
    name: str = ""
    site: str = ""
    met: Counter[int] = field(default_factory=Counter)
    """By the number of a fault: how many calls were of those that it means."""
    spent: set[int] = field(default_factory=set)
    happened: set[str] = field(default_factory=set)
    links: BrokenLinks | None = None
    called: dict[str, None] = field(default_factory=dict)
    """Names of what this rank has called, in their order, and below the lines that did."""
    lines: dict[str, None] = field(default_factory=dict)
    attempt: int = 1
    """Which start of the run this is (`--max-restarts`)."""

    def start_timers(self) -> None:
        """Faults that come at a time, whatever the rank is doing then."""
        for number, fault in enumerate(self.faults):
            if fault.by_time and fault.action in ANY_TIME and number not in self.spent:
                timer = threading.Timer(fault.delay(self.rank, self.attempt), self._at_time, (number, fault))
                timer.daemon = True
                timer.start()

    def _at_time(self, number: int, fault: Fault) -> None:
        self.spent.add(number)
        self.note(fault, "", events.site_of_main_thread(), guard.calls_made())
        if fault.action == "raise":
            raise_in_main_thread(f"{fault.message} (--inject {fault.text})")
        elif fault.action == "full":
            fill_disk()
        elif fault.action == "slowdisk":
            slow_disk(fault.seconds)
        else:
            self.end(fault)

    def before(self, begun: events.Begun) -> events.After | None:
        """Act on the faults that this call is due for; what a call makes of calls inside it is not counted."""
        if begun.kind not in _KINDS:
            return None
        if self.depth == 0:
            self._consider(begun.name, (*begun.args, *begun.kwargs.values()))
        if begun.kind == "collective" and begun.subject.group is not None:
            self._consider_call(guard.calls_made() + 1, begun.name.rpartition(".")[2], begun.args)
        if begun.kind != "op":
            self._consider_links(begun)
        self.depth += 1
        return self._done

    def before_call(self, operation: str) -> None:
        """The same for what only the guard knows: the opening and closing of a mesh, barriers, messages of bytes."""
        name = operation.partition("(")[0]
        self._consider_call(guard.calls_made() + 1, name, ())
        if self.depth == 0:
            self._consider(name, ())

    def _consider_call(self, number: int, name: str, args: Any) -> None:
        """Act on the faults of a call by its number."""
        for index, fault in enumerate(self.faults):
            if index not in self.spent and fault.call == number and fault.action not in LINKS:
                self.spent.add(index)
                self._act(fault, args, name, events.call_site(), number)

    def _done(self, result: Any, error: BaseException | None) -> None:
        self.depth -= 1

    def _consider(self, name: str, args: tuple[Any, ...]) -> None:
        self.name, self.site = name.rpartition(".")[2], events.call_site()
        self.calls += 1
        self.called[self.name] = self.lines[self.site] = None
        for index, fault in enumerate(self.faults):
            if not fault.is_of(self.name, self.site) or not self._is_late(fault):
                continue
            if fault.action in SPOILING and fault.op == "*" and not floats_in(args):
                continue
            self.met[index] += 1
            if index not in self.spent and self._is_due(fault, self.met[index], args):
                if fault.nth:
                    self.spent.add(index)
                self._act(fault, args, self.name, self.site, 0)

    def _is_late(self, fault: Fault) -> bool:
        return time.monotonic() - self.begun_at >= fault.delay(self.rank, self.attempt)

    def _is_due(self, fault: Fault, met: int, args: tuple[Any, ...]) -> bool:
        if fault.call or fault.action in LINKS:
            return False  # the guard's number decides, or the links
        if fault.by_time:  # others have a timer; a value is spoiled in the first call that has one
            return fault.action not in ANY_TIME and (fault.action not in SPOILING or bool(floats_in(args)))
        return fault.nth in (0, met)

    def _consider_links(self, begun: events.Begun) -> None:
        """Let a collective or a message meet the links that are broken now."""
        broken = [
            fault
            for index, fault in enumerate(self.faults)
            if fault.action in LINKS and self._is_broken(fault, self.met[index])
        ]
        if not broken:
            return
        if self.links is None:
            self.links = BrokenLinks(self.rank)
        for fault in broken:
            found = self.links.crossed(fault, begun)
            if found is not None:
                self._meet_link(fault, *found, begun)

    def _is_broken(self, fault: Fault, met: int) -> bool:
        return (
            self._is_late(fault)
            and guard.calls_made() + 1 >= fault.call
            and (fault.by_time or bool(fault.call) or met >= fault.nth)
            and fault.is_of(self.name, self.site)
        )

    def _meet_link(self, fault: Fault, link: str, nbytes: float, begun: events.Begun) -> None:
        name, site = begun.name.rpartition(".")[2], events.call_site()
        self.note(fault, name, site, guard.calls_made() + 1)
        if fault.action == "cut":
            raise RuntimeError(f"{link} is cut, and {name} needs it (--inject {fault.text})")
        if fault.action == "drop":
            waited = seconds_to_wait()
            time.sleep(waited)
            raise RuntimeError(
                f"nothing came over {link} within {waited:g} s, and {name} needs it (--inject {fault.text})"
            )
        time.sleep(fault.seconds if fault.action == "delay" else nbytes / fault.rate)

    def _act(self, fault: Fault, args: Any, name: str, site: str, number: int) -> None:
        self.note(fault, name, site, number)
        if fault.action == "slow":
            time.sleep(fault.seconds)
        elif fault.action == "raise":
            raise RuntimeError(f"{fault.message} (--inject {fault.text})")
        elif fault.action == "oom":
            raise fatal(
                f"Out of Memory: injected into {name} (--inject {fault.text})",
                hint="this is the fault that was asked for; without --inject the run goes on",
            )
        elif fault.action in SPOILING:
            spoil_first_element(args, fault, name)
        elif fault.action == "full":
            fill_disk()
        elif fault.action == "slowdisk":
            slow_disk(fault.seconds)
        elif fault.action == "hang":
            threading.Event().wait()
        else:
            self.end(fault)

    def end(self, fault: Fault) -> None:
        """Send the signal, or leave with the code."""
        if fault.action in _SIGNALS:
            os.kill(os.getpid(), _SIGNALS[fault.action])
        else:
            flush_streams()
            os._exit(fault.code)

    def note(self, fault: Fault, name: str, site: str, number: int) -> None:
        """Write down what is about to happen, before the `number`-th call of the guard; 0: at an operation, which has no number."""
        self.happened.add(fault.text)
        facts = {
            "rank": self.rank,
            "fault": fault.text,
            "action": fault.action,
            "call": number or guard.calls_made(),
            "is_call": bool(number and name),
            "event": self.calls,
            "op": name,
            "site": site,
            "at": time.time(),
        }
        self._write(facts)

    def note_missed(self) -> None:
        """Write down, at the end of the rank, how near it came to faults whose place it never came to, and where calls are instead."""
        for index, fault in enumerate(self.faults):
            if fault.text not in self.happened and index not in self.spent and not fault.by_time:
                facts = {
                    "missed": fault.text,
                    "rank": self.rank,
                    "met": self.met[index],
                    "calls": guard.calls_made(),
                }
                self._write({**facts, "called": [*self.called][:_TOLD], "lines": [*self.lines][:_TOLD]})

    def _write(self, facts: dict[str, Any]) -> None:
        if self.record is None:
            return
        with self.record.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(facts) + "\n")


def attach() -> None:
    """Prepare the faults that TT_RUN_INJECT names for this rank."""
    rank, host = world().rank, os.uname().nodename
    mine = [
        fault
        for fault in read_faults(launched.variables[contract.INJECT])
        if fault.action in LINKS or fault.concerns(rank, host)
    ]
    if not mine:
        return
    folder = launched.variables.get(contract.RUN_DIR)
    record = Path(folder) / contract.INJECTED_FILE.format(rank=rank) if folder else None
    injector = Injector(rank, mine, record)
    if folder:
        injector.attempt = len(starts_of(Path(folder)))
        injector.spent = over_before(Path(folder), rank, mine)
    events.precede(injector.before)
    guard.precede(injector.before_call)
    announce({fault.op for fault in mine})
    injector.start_timers()
    atexit.register(injector.note_missed)
