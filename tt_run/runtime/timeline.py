"""A trace of the run that Perfetto and chrome://tracing open: per rank what it called, waited for and moved, per device what it computed.

Switched on by TT_RUN_TIMELINE=FILE (`tt-run --timeline FILE`). Times are real times of the emulation, not of a device.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tt_run import contract
from tt_run.runtime import events
from tt_run.runtime.comm.world import world
from tt_run.runtime.joint_file import PartedFile

_ON_DEVICES = ("op", "collective")
Span = tuple[float, float, str, str]
"""Start and length in microseconds, a label, and what bounds it."""
_FIRST_TRACK = 1_000_000  # above the threads of devices
_tracks: list[tuple[str, Sequence[Span]]] = []


class Timeline:
    """Collects events as trace events: process = rank, thread 0 = the program, thread d + 1 = device d."""

    def __init__(self, rank: int, hostname: str, devices: tuple[int, ...]) -> None:
        self._rank = rank
        self._devices = devices
        # Hosts have clocks of their own: the wall clock ties them together.
        self._began = events.now()
        self._wall = time.time()
        self._trace: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank} ({hostname})"}},
            {"ph": "M", "name": "thread_name", "pid": rank, "tid": 0, "args": {"name": "program"}},
        ]
        for device in devices:
            name = {"name": f"device {device}"}
            self._trace.append(
                {"ph": "M", "name": "thread_name", "pid": rank, "tid": device + 1, "args": name}
            )

    def note(self, event: events.Event) -> None:
        """Record one event."""
        base = {
            "ph": "X",
            "name": event.name,
            "cat": event.kind,
            "pid": self._rank,
            "ts": round((event.start - self._began) * 1e6, 3),
            "dur": round((event.end - event.start) * 1e6, 3),
        }
        details = {"site": event.site, "bytes": event.bytes, "axis": event.axis, "detail": event.detail}
        self._trace.append(
            {**base, "tid": 0, "args": {k: v for k, v in details.items() if v not in (None, "", 0)}}
        )
        if event.kind in _ON_DEVICES:
            self._trace += [{**base, "tid": device + 1} for device in event.devices or self._devices]

    def part(self) -> dict[str, Any]:
        """What has been recorded, and the tracks of other listeners, which begin where the record does."""
        tracks = [
            event
            for number, (name, spans) in enumerate(_tracks)
            for event in self._track(number, name, spans)
        ]
        return {"trace": [*self._trace, *tracks], "wall": self._wall}

    def _track(self, number: int, name: str, spans: Sequence[Span]) -> Iterator[dict[str, Any]]:
        thread = _FIRST_TRACK + number
        yield {"ph": "M", "name": "thread_name", "pid": self._rank, "tid": thread, "args": {"name": name}}
        for start, length, label, bound in spans:
            yield {
                "ph": "X",
                "name": label,
                "cat": name,
                "pid": self._rank,
                "tid": thread,
                "ts": round(start, 3),
                "dur": round(length, 3),
                "args": {"bound by": bound},
            }


def add_track(name: str, spans: Sequence[Span]) -> None:
    """A thread of its own on every rank's record: spans of microseconds on another clock than the run's, which begins at 0."""
    _tracks.append((name, spans))


def join(parts: list[dict[str, Any]]) -> dict[str, str]:
    """The ranks' records as one trace whose times begin at 0."""
    walls = [part["wall"] for part in parts]
    trace = []
    for part in parts:
        shift = (part["wall"] - min(walls)) * 1e6
        trace += [{**event, "ts": event["ts"] + shift} if "ts" in event else event for event in part["trace"]]
    first = min((event["ts"] for event in trace if "ts" in event), default=0.0)
    trace = [{**event, "ts": round(event["ts"] - first, 3)} if "ts" in event else event for event in trace]
    return {"": json.dumps({"displayTimeUnit": "ms", "traceEvents": trace})}


def attach() -> None:
    """Start the record that TT_RUN_TIMELINE asks for."""
    from tt_run.runtime.mesh.system import system_mesh

    ranks = world()
    system = system_mesh()
    local = tuple(i for i, owner in enumerate(system.owners) if owner == ranks.rank)
    timeline = Timeline(ranks.rank, ranks.peers[ranks.rank].hostname, local)
    events.subscribe(timeline.note)
    PartedFile(os.environ[contract.TIMELINE], timeline.part, join).write_at_exit()
