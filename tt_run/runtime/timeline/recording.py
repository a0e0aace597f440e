"""What one rank records while it runs: the draft of each event, kept as it came; what a viewer wants to see is made of it at the end."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from tt_run import contract
from tt_run.runtime import events, launched
from tt_run.runtime.comm.world import world
from tt_run.runtime.joint_file import PartedFile
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.timeline.levels import Levels
from tt_run.runtime.timeline.trace import Row, trace_file

MOST_EVENTS = 500_000
"""Of one rank; what comes later is counted and not kept."""
Span = tuple[float, float, str, str]
"""Start and length in microseconds, a label, and what bounds it."""
_tracks: list[tuple[str, Sequence[Span]]] = []


class Timeline:
    """Collects a rank's events, the specs of the tensors that they took and gave, and what its devices hold after each.

    It runs within every call, so it keeps references and formats nothing. They all lie in one list, one call behind the other: an object
    for each would make every collection of garbage longer.
    """

    def __init__(
        self, rank: int, hostname: str, devices: tuple[int, ...], levels: Levels | None = None
    ) -> None:
        self._facts = {"rank": rank, "host": hostname, "devices": list(devices)}
        self._levels = levels
        # Hosts have clocks of their own: the wall clock ties them together.
        self._began = events.now()
        self._wall = time.time()
        self._kept: list[Any] = []
        # How many of them are a call's draft, the specs that it took, and those that it gave.
        self._lengths = array("H")
        self._count = 0
        self._dropped = 0

    def keep(self, draft: events.Draft, args: Sequence[Any], result: Any) -> None:
        """Record one event with the tensors that its call took and gave."""
        if self._count >= MOST_EVENTS:
            self._dropped += 1
            return
        self._count += 1
        kept = self._kept
        kept += draft
        given = made = 0
        for value in args:
            if isinstance(value, Tensor):
                kept.append(value._spec)
                given += 1
            elif isinstance(value, (list, tuple)):
                specs = [each._spec for each in value if isinstance(each, Tensor)]
                kept += specs
                given += len(specs)
        if isinstance(result, Tensor):
            kept.append(result._spec)
            made = 1
        elif isinstance(result, (list, tuple)):
            specs = [each._spec for each in result if isinstance(each, Tensor)]
            kept += specs
            made = len(specs)
        self._lengths.extend((len(draft), given, made))
        if self._levels is not None:
            self._levels.moment = self._count

    def part(self) -> dict[str, Any]:
        """What has been recorded as plain data, times in microseconds from the beginning of the record."""
        rows = list(self._rows())
        held = [] if self._levels is None else self._levels.curve()
        return {
            **self._facts,
            "wall": self._wall,
            "rows": rows,
            # What came after an event is seen with the next.
            "held": [[rows[min(moment, len(rows) - 1)]["end"], level] for moment, level in held if rows],
            "tracks": [[name, [list(span) for span in spans]] for name, spans in _tracks],
            "dropped": self._dropped,
        }

    def _us(self, moment: float) -> float:
        return round((moment - self._began) * 1e6, 3)

    def _rows(self) -> Iterator[Row]:
        """The calls one by one."""
        words: dict[int, str] = {}

        def outlines(specs: Sequence[Any]) -> list[str]:
            return [words.get(id(s)) or words.setdefault(id(s), _outline(s)) for s in specs]

        at, kept, lengths = 0, self._kept, iter(self._lengths)
        for length in lengths:
            given, made = next(lengths), next(lengths)
            begin, middle, end = at + length, at + length + given, at + length + given + made
            make, facts = kept[at], kept[at + 1 : begin]
            error = facts[-1] if make is events.failed_event else ""
            yield self._row(make(*facts), outlines(kept[begin:middle]), outlines(kept[middle:end]), error)
            at = end

    def _row(self, event: events.Event, given: list[str], made: list[str], error: str) -> Row:
        row: Row = {
            "kind": event.kind,
            "name": event.name,
            "start": self._us(event.start),
            "end": self._us(event.end),
            "devices": list(event.devices),
            "site": event.site,
            "bytes": event.bytes,
            "messages": event.messages,
            "axis": event.axis,
            "detail": event.detail,
            "mesh": event.mesh_id,
            "groups": [list(group) for group in event.groups],
            "peers": list(event.peers),
            "in": given or [_words(*each) for each in event.operands],
            "out": made or [_words(*each) for each in event.results],
            "raised": error,
        }
        return {name: value for name, value in row.items() if value not in (None, "", 0, [])}


def _outline(spec: Any) -> str:
    return _words(tuple(spec.shape), spec.dtype.name.lower())


def _words(shape: Sequence[int], dtype: str) -> str:
    return f"{'x'.join(str(int(n)) for n in shape) or 'scalar'} {dtype}"


def add_track(name: str, spans: Sequence[Span]) -> None:
    """A thread of its own on every rank's record: spans of microseconds on another clock than the run's, which begins at 0."""
    _tracks.append((name, spans))


def _own_devices(owners: Sequence[int], rank: int) -> Iterator[int]:
    return (device for device, owner in enumerate(owners) if owner == rank)


def attach() -> None:
    """Start the record that TT_RUN_TIMELINE asks for."""
    from tt_run.runtime.mesh.system import system_mesh

    ranks = world()
    local = tuple(_own_devices(system_mesh().owners, ranks.rank))
    levels = Levels()
    levels.start()
    timeline = Timeline(ranks.rank, ranks.peers[ranks.rank].hostname, local, levels)
    events.keep(timeline.keep)
    PartedFile(launched.variables[contract.TIMELINE], timeline.part, trace_file).write_at_exit()
