"""The ranks' rows as one trace in Chrome's event format: tracks, flows between ranks, counters.

Process = rank; thread 0 is its program, on the host; thread d + 1 is its device d, whose slices have the category `device`. A slice of the
program has the kind of the event as its category (op, collective, send, recv, wait, step, mesh), so that
`select name, sum(dur) from slice where category = 'op' group by name` counts each call once.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from tt_run.runtime.timeline.flows import Flow, flows

Row = dict[str, Any]
"""One event of a rank as plain data; what is empty is left out."""
Part = dict[str, Any]
_ON_DEVICES = ("op", "collective")
_FIRST_TRACK = 1_000_000  # above the threads of devices
_TOLD = {
    "site": "site",
    "in": "in",
    "out": "out",
    "bytes": "bytes",
    "messages": "messages",
    "axis": "axis",
    "detail": "detail",
    "raised": "raised",
}


def trace_file(parts: list[Part]) -> dict[str, str]:
    """The whole trace as the text of a file, each event on a line of its own: what looks at some of them need not read all."""
    whole = trace(parts)
    events = ",\n".join(map(json.dumps, whole.pop("traceEvents")))
    head = "".join(f"{json.dumps(name)}: {json.dumps(value)}, " for name, value in whole.items())
    return {"": f'{{{head}"traceEvents": [\n{events}\n]}}\n'}


def trace(parts: list[Part]) -> dict[str, Any]:
    """The ranks' records as one trace whose times begin at 0."""
    parts = [_on_one_clock(part, min(other["wall"] for other in parts)) for part in parts]
    events: list[dict[str, Any]] = []
    for part in parts:
        events += _names(part)
        for row in part["rows"]:
            events += _slices(part, row)
        events += _tracks(part)
        events += _memory(part)
    found = list(flows(parts))
    events += _arrows(found)
    events += _in_flight(parts, found)
    first = min((event["ts"] for event in events if "ts" in event), default=0.0)
    for event in events:
        if "ts" not in event:
            continue
        begin, event["ts"] = event["ts"], round(event["ts"] - first, 3)
        if (
            "dur" in event
        ):  # begin and end are rounded alike: of slices that follow each other none overlaps the next
            event["dur"] = round(round(begin + event["dur"] - first, 3) - event["ts"], 3)
    events.sort(key=lambda event: event.get("ts", -1.0))  # who reads the beginning has all ranks
    dropped = {f"rank {part['rank']}": part["dropped"] for part in parts if part["dropped"]}
    more = {"otherData": {"events not kept": dropped}} if dropped else {}
    return {"displayTimeUnit": "ms", "traceEvents": events, **more}


def _on_one_clock(part: Part, first: float) -> Part:
    """The part with its times counted from the beginning of the earliest rank."""
    shift = (part["wall"] - first) * 1e6
    rows = [{**row, "start": row["start"] + shift, "end": row["end"] + shift} for row in part["rows"]]
    return {**part, "rows": rows, "held": [[at + shift, held] for at, held in part["held"]]}


def _names(part: Part) -> Iterator[dict[str, Any]]:
    rank = part["rank"]
    yield _meta(rank, None, "process_name", name=f"rank {rank} ({part['host']})")
    yield _meta(rank, None, "process_sort_index", sort_index=rank)
    yield _meta(rank, 0, "thread_name", name="program")
    for device in part["devices"]:
        yield _meta(rank, device + 1, "thread_name", name=f"device {device}")
        yield _meta(rank, device + 1, "thread_sort_index", sort_index=device + 1)


def _meta(rank: int, thread: int | None, kind: str, **args: Any) -> dict[str, Any]:
    place = {} if thread is None else {"tid": thread}
    return {"ph": "M", "name": kind, "pid": rank, **place, "args": args}


def _slices(part: Part, row: Row) -> Iterator[dict[str, Any]]:
    """The call on the program's track and, where devices compute or move, one on the track of each."""
    base = {
        "ph": "X",
        "name": f"wait in {row['name']}" if row["kind"] == "wait" else row["name"],
        "cat": row["kind"],
        "pid": part["rank"],
        "ts": row["start"],
        "dur": row["end"] - row["start"],
    }
    args = {told: _text(row[name]) for name, told in _TOLD.items() if name in row}
    yield {**base, "tid": 0, "args": args}
    if row["kind"] in _ON_DEVICES:
        for device in row.get("devices") or part["devices"]:
            yield {**base, "cat": "device", "tid": device + 1, "args": {"kind": row["kind"]}}


def _text(value: Any) -> Any:
    return ", ".join(value) if isinstance(value, list) else value


def _tracks(part: Part) -> Iterator[dict[str, Any]]:
    """Tracks of other listeners. They have clocks of their own: each begins where the rank's record does."""
    start = min((row["start"] for row in part["rows"]), default=0.0)
    for number, (name, spans) in enumerate(part["tracks"]):
        thread = _FIRST_TRACK + number
        yield _meta(part["rank"], thread, "thread_name", name=name)
        for at, length, label, bound in spans:
            yield {
                "ph": "X",
                "name": label,
                "cat": name,
                "pid": part["rank"],
                "tid": thread,
                "ts": start + at,
                "dur": length,
                "args": {"bound by": bound},
            }


def _memory(part: Part) -> Iterator[dict[str, Any]]:
    """What the fullest device of the rank holds, after each event that changed it."""
    kinds = sorted({kind for _, held in part["held"] for kind, size in held.items() if size})
    for at, held in part["held"]:
        for kind in kinds:
            yield _counter(part["rank"], kind, "bytes in use, fullest device", at, held[kind])


def _counter(rank: int, name: str, what: str, at: float, value: float) -> dict[str, Any]:
    return {"ph": "C", "name": name, "pid": rank, "ts": at, "args": {what: value}}


def _arrows(found: Iterable[Flow]) -> Iterator[dict[str, Any]]:
    """Each end next to the beginning of its slice, where nothing that it encloses is, or else viewers bind it to that.

    Only a message can be taken by a call that began before it was sent: that end is at the end of the call.
    """
    for number, flow in enumerate(found):
        base = {"cat": flow.kind, "name": flow.name, "id": number + 1, "tid": 0}
        sent = flow.sent["start"] + _margin(flow.sent)
        taken = flow.taken["start"] + _margin(flow.taken)
        if taken <= sent:
            taken = flow.taken["end"] - _margin(flow.taken)
        yield {"ph": "s", **base, "pid": flow.source, "ts": sent}
        yield {"ph": "f", "bp": "e", **base, "pid": flow.target, "ts": taken}


def _margin(row: Row) -> float:
    return min(0.001, (row["end"] - row["start"]) / 4)


def _in_flight(parts: list[Part], found: Iterable[Flow]) -> Iterator[dict[str, Any]]:
    """Bytes that a rank has sent and nobody has taken yet: of a message until its other end takes it, of a collective until it ends."""
    taken = {id(flow.sent): flow.taken["end"] for flow in found if flow.kind == "message"}
    for part in parts:
        changes: defaultdict[float, int] = defaultdict(int)
        for row in part["rows"]:
            size = row.get("bytes", 0)
            if row["kind"] == "collective":
                size *= len(row.get("devices", ()))
                start, end = row["start"], row["end"]
            elif row["kind"] == "send":
                size *= max(row.get("messages", 1), 1)
                start, end = row["start"], max(taken.get(id(row), row["end"]), row["end"])
            else:
                continue
            changes[start] += size
            changes[end] -= size
        now = 0
        for at in sorted(changes):
            now += changes[at]
            yield _counter(part["rank"], "links", "bytes in flight", at, now)
