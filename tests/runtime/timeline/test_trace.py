"""The trace of a real run: slices, tracks, flows and counters as the format wants them; and joining, on rows made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tt_run.runtime.timeline.flows import flows
from tt_run.runtime.timeline.recording import Timeline
from tt_run.runtime.timeline.trace import trace

Events = list[dict[str, Any]]
PHASES = {
    "M": set(),
    "X": {"ts", "dur", "tid"},
    "s": {"ts", "tid", "id"},
    "f": {"ts", "tid", "id", "bp"},
    "C": {"ts"},
}


def test_every_event_is_of_the_format(events: Events) -> None:
    for event in events:
        assert {"ph", "name", "pid"} | PHASES[event["ph"]] <= set(event), event
        assert event.get("dur", 0) >= 0
    spans = [event for event in events if event["ph"] == "X"]
    assert min(event["ts"] for event in events if "ts" in event) == 0
    assert {event["pid"] for event in spans} == {0, 1}
    named = {(event["pid"], event.get("tid")) for event in events if event["name"] == "thread_name"}
    assert {(event["pid"], event["tid"]) for event in spans} <= named


def test_the_program_and_its_devices_have_tracks_of_their_own(events: Events) -> None:
    reduced = [event for event in events if event["ph"] == "X" and event["name"] == "all_reduce"]
    assert {(e["pid"], e["tid"]) for e in reduced if e["cat"] == "collective"} == {(0, 0), (1, 0)}
    on_devices = {(e["pid"], e["tid"]) for e in reduced if e["cat"] == "device"}
    assert {device - 1 for _, device in on_devices} == set(range(8)) and len(on_devices) == 8
    waits = [event for event in events if event.get("cat") == "wait"]
    assert "wait in all_reduce" in {event["name"] for event in waits}


def test_arguments_tell_shapes_dtypes_and_lines(events: Events) -> None:
    [add] = [e for e in events if e["name"] == "ttnn.add" and e.get("cat") == "op" and e["pid"] == 0]
    assert add["args"]["in"] == "1x1x32x32 float32, 1x1x32x32 float32"
    assert add["args"]["out"] == "1x1x32x32 float32"
    assert add["args"]["site"].endswith("program.py:12")
    [gather, *_] = [e for e in events if e["name"] == "all_gather" and e.get("cat") == "collective"]
    assert gather["args"]["in"] == "1x1x32x32 float32" and gather["args"]["axis"] == 1
    failed = [e for e in events if e.get("args", {}).get("raised")]
    assert {(e["name"], e["pid"], e["args"]["raised"]) for e in failed} == {
        ("ttnn.matmul", r, "RuntimeError") for r in (0, 1)
    }


def test_flows_join_ranks_and_lie_within_their_slices(events: Events) -> None:
    slices = [e for e in events if e["ph"] == "X" and e["tid"] == 0]
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert set(starts) == set(ends)
    found = []
    for number, start in starts.items():
        end = ends[number]
        for place in (start, end):
            name = "send_bytes" if place is start else "recv_bytes"
            name = place["name"] if place["cat"] == "collective" else name
            around = [
                s for s in slices if s["pid"] == place["pid"] and s["ts"] <= place["ts"] <= s["ts"] + s["dur"]
            ]
            assert name in {s["name"] for s in around}
        found.append((start["cat"], start["name"], start["pid"], end["pid"]))
    # Rank 1 sleeps before the first collective, so rank 0 waits for it.
    assert ("message", "send_bytes", 0, 1) in found
    assert ("collective", "all_reduce", 0, 1) in found
    assert len([each for each in found if each[1] == "all_gather"]) == 3


def test_counters_tell_memory_and_bytes_in_flight(events: Events) -> None:
    counters = [e for e in events if e["ph"] == "C"]
    held = [
        e["args"]["bytes in use, fullest device"] for e in counters if e["name"] == "DRAM" and e["pid"] == 0
    ]
    assert 4096 in held and max(held) > 4096
    flying = [e["args"]["bytes in flight"] for e in counters if e["name"] == "links" and e["pid"] == 0]
    assert max(flying) == 4 * 4096 and flying[-1] == 0


def part(rank: int, *rows: dict[str, Any], wall: float = 100.0) -> dict[str, Any]:
    facts = {
        "rank": rank,
        "host": "h",
        "devices": [rank],
        "wall": wall,
        "held": [],
        "tracks": [],
        "dropped": 0,
    }
    return {**facts, "rows": list(rows)}


def row(kind: str, start: float, **facts: Any) -> dict[str, Any]:
    return {"kind": kind, "name": kind, "start": start, "end": start + 10.0, **facts}


def test_ranks_of_a_group_are_joined_call_by_call_and_no_others() -> None:
    both, alone = [[0, 1]], [[2, 3]]
    parts = [
        part(
            0, row("collective", 0, groups=both, devices=[0]), row("collective", 50, groups=both, devices=[0])
        ),
        part(
            1, row("collective", 5, groups=both, devices=[1]), row("collective", 40, groups=both, devices=[1])
        ),
        part(2, row("collective", 0, groups=[*both, *alone], devices=[2, 3])),
    ]
    found = [(flow.source, flow.sent["start"], flow.target, flow.taken["start"]) for flow in flows(parts)]
    assert found == [(0, 0, 1, 5), (1, 40, 0, 50)]


def test_messages_pair_in_order_and_by_devices() -> None:
    parts = [
        part(0, *(row("send", at, peers=[1], detail=f"{at}->0", bytes=8) for at in (0, 20, 40))),
        part(1, *(row("recv", 100 + at, peers=[0], detail=f"{at}->0", bytes=8) for at in (20, 0))),
    ]
    found = {(flow.sent["start"], flow.taken["start"]) for flow in flows(parts)}
    assert found == {(0, 100), (20, 120)}
    counters = [e for e in trace(parts)["traceEvents"] if e["ph"] == "C"]
    assert [e["args"]["bytes in flight"] for e in counters] == [8, 16, 24, 16, 8, 0]


def test_hosts_with_other_clocks_are_laid_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [part(0, row("op", 0)), part(1, row("op", 0), wall=100.5)]
    at = {e["pid"]: e["ts"] for e in trace(parts)["traceEvents"] if e["ph"] == "X" and e["cat"] == "op"}
    assert at == {0: 0, 1: 500_000}
    monkeypatch.setattr("tt_run.runtime.timeline.recording.MOST_EVENTS", 1)
    timeline = Timeline(0, "h", (0,))
    from tt_run.runtime.events import Event

    for _ in range(3):
        timeline.keep((Event, "op", "ttnn.add", 0.0, 1.0), (), None)
    whole = trace([timeline.part()])
    assert whole["otherData"] == {"events not kept": {"rank 0": 2}}


def test_slices_of_a_track_that_follow_each_other_do_not_overlap() -> None:
    """Perfetto drops a slice that begins before the one ahead of it has ended, were it by a nanosecond."""
    lengths = [0.0004 + number / 7 for number in range(50)]
    spans = [[sum(lengths[:number]), length, "x", "dram"] for number, length in enumerate(lengths)]
    made = trace([{**part(0, row("op", 0.3)), "tracks": [["predicted", spans]]}])["traceEvents"]
    found = sorted((e["ts"], e["dur"]) for e in made if e.get("cat") == "predicted")
    ends = [round(1000 * at) + round(1000 * length) for at, length in found]
    assert len(found) == 50 and ends[:-1] == [round(1000 * at) for at, _ in found[1:]]
