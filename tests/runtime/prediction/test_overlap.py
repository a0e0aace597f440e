"""What runs beside other work: the clocks of queues and sub-devices, and a program whose form lets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.prediction.test_prediction import run
from tt_run.runtime.prediction.overlap import COPIES, Stream, Streams

FIRST, SECOND, BESIDE = Stream(0), Stream(0, queue=1), Stream(0, part=1)
COPY = Stream(0, 1, COPIES)


class Buffer:
    """Something that is written and read."""


def streams(*lanes: tuple[int, ...]) -> Streams:
    made = Streams()
    for number, devices in enumerate(lanes or ((0, 1),)):
        made.open(number, devices)
    return made


def test_one_queue_and_sub_device_work_in_order() -> None:
    clocks = streams()
    assert [clocks.run(FIRST, 10) for _ in range(3)] == [(0, 0), (10, 0), (20, 0)]


@pytest.mark.parametrize("other", [SECOND, BESIDE, COPY])
def test_another_stream_runs_beside(other: Stream) -> None:
    clocks = streams()
    clocks.run(FIRST, 10)
    assert clocks.run(other, 4) == (0, 4)
    assert clocks.run(other, 10) == (4, 6)  # 4 us longer than the first


def test_a_queue_begins_its_commands_in_order() -> None:
    clocks = streams()
    clocks.run(FIRST, 10)
    clocks.run(FIRST, 10)
    assert clocks.run(BESIDE, 3) == (10, 3)


def test_what_a_tensor_holds_is_waited_for() -> None:
    clocks, tensor = streams(), Buffer()
    clocks.run(FIRST, 10, writes=[tensor])
    assert clocks.run(SECOND, 4, reads=[tensor]) == (10, 0)


def test_events_order_queues() -> None:
    clocks = streams()
    clocks.hold("never recorded")
    clocks.run(FIRST, 10)
    clocks.record("written", FIRST)
    clocks.run(FIRST, 10)
    clocks.wait("written", COPY)
    assert clocks.run(COPY, 4) == (10, 4)
    clocks.record("copied", COPY)
    clocks.hold("copied")
    assert clocks.run(SECOND, 1) == (14, 1)
    clocks.finish(0)
    assert clocks.run(SECOND, 1) == (20, 0)


@pytest.mark.parametrize(("stalls", "start"), [((), 30), ((0,), 10), ((1,), 30)])
def test_a_copy_waits_for_its_stall_group_and_holds_up_the_queue(
    stalls: tuple[int, ...], start: float
) -> None:
    clocks = streams()
    clocks.run(FIRST, 10)
    clocks.run(BESIDE, 30)
    assert clocks.run(Stream(0, 0, COPIES), 5, stalls=stalls)[0] == start
    assert clocks.run(FIRST, 1)[0] == start + 5


def test_meshes_that_share_devices_follow_each_other_and_others_do_not() -> None:
    clocks = streams((0, 1, 2, 3), (0, 1), (2, 3))
    assert clocks.run(Stream(0), 10) == (0, 0)
    assert clocks.run(Stream(1), 5) == (10, 0)
    assert clocks.run(Stream(2), 7) == (10, 0)
    assert clocks.run(Stream(0), 1) == (17, 0)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[Any]]:
    folder = tmp_path_factory.mktemp("overlap")
    text = Path(__file__).with_name("overlap_program.py").read_text()
    words = ("--predict=p.json", "--timeline=t.json", "--shapes-only")
    run(folder, text, "--system", "t3000", *words)
    regions = json.loads((folder / "p.json").read_text())["regions"]
    found = {region["name"].removeprefix("signpost "): region for region in regions}
    return found, json.loads((folder / "t.json").read_text())["traceEvents"]


def test_a_second_queue_hides_copies_but_the_first(program: tuple[dict[str, Any], list[Any]]) -> None:
    alone, both = program[0]["copies on one queue"], program[0]["copies on two queues"]
    assert alone["overlapped_us"] == 0
    copies = alone["classes"]["host and device"]["us"]
    assert both["overlapped_us"] == pytest.approx(copies * 2 / 3)
    assert both["us"] == pytest.approx(alone["us"] - copies * 2 / 3)


def test_a_collective_on_a_sub_device_of_its_own_runs_beside_matmuls(
    program: tuple[dict[str, Any], list[Any]],
) -> None:
    alone, both = program[0]["gathers on one sub-device"], program[0]["gathers on two sub-devices"]
    matmuls = alone["classes"]["matmuls"]["us"]
    assert (alone["overlapped_us"], both["overlapped_us"]) == (0, pytest.approx(matmuls))
    # What reads the gathered tensor waits for it; only the next gather runs beside it.
    waiting = program[0]["gathers that are waited for"]
    assert waiting["us"] > both["us"] + matmuls / 3


def test_each_stream_has_a_track_of_the_timeline(program: tuple[dict[str, Any], list[Any]]) -> None:
    names = {event["args"]["name"] for event in program[1] if event["name"] == "thread_name"}
    told = {name for name in names if name.startswith("predicted")}
    assert told == {"predicted", "predicted, queue 1, copies", "predicted, copies", "predicted, sub-device 1"}
