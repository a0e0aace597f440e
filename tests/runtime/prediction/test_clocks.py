"""Tracks of predicted time, and on which part of a device a call runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.hardware.files import load, shipped
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.model.work import Kernel
from tt_run.runtime.prediction import clocks
from tt_run.runtime.prediction.account import WorkAccount
from tt_run.runtime.prediction.clocks import Clocks, part_of
from tt_run.runtime.prediction.overlap import COPIES, Stream


@pytest.fixture
def tracks(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    monkeypatch.setattr(clocks.timeline, "add_track", found.__setitem__)
    return found


def test_a_track_is_called_by_devices_queue_and_part(tracks: dict[str, list[Any]]) -> None:
    hardware = load(shipped("wormhole")).system("t3000")
    work, account = Kernel("elementwise", 1e6, 1), WorkAccount(0, 0)
    shown, quiet = Clocks(hardware, account, shown=True), Clocks(hardware, WorkAccount(0, 0))
    every = shown.lane(tuple(range(8)))
    lanes = [every, shown.lane((2,)), shown.lane((2, 3)), shown.lane((2,))]
    assert lanes[1] == lanes[3] and shown.devices(lanes[2]) == (2, 3)
    streams = [
        Stream(every),
        Stream(lanes[1]),
        Stream(lanes[2]),
        Stream(every, 1),
        Stream(every, 0, 2),
        Stream(lanes[2], 1, COPIES),
    ]
    for stream in streams:
        for _ in range(2):
            shown.add(None, "add", work, stream)
    quiet.add(None, "add", work, Stream(quiet.lane((0,))))
    assert list(tracks) == [
        "predicted",
        "predicted, device 2",
        "predicted, devices 2..3",
        "predicted, queue 1",
        "predicted, sub-device 2",
        "predicted, devices 2..3, queue 1, copies",
    ]
    (first, us, label, _), (second, *_) = tracks["predicted"]
    assert (first, second, label) == (0, us, "add")


def test_the_part_of_a_device_that_a_call_names_or_lies_on() -> None:
    grid = CoreRangeSet({CoreRange(CoreCoord(4, 0), CoreCoord(7, 7))})
    parts = SimpleNamespace(loaded=1, part_with=lambda cores: 1 if cores is grid else 7)
    device: Any = SimpleNamespace(sub_devices=parts)
    for word in clocks.WORDS:
        assert part_of(device, {word: 2, "sub_core_grids": grid}, ()) == 2
    assert part_of(device, {"subdevice_id": None, "sub_core_grids": grid}, ()) == 1
    assert part_of(device, {}, ()) == part_of(device, {"sub_core_grids": 3}, ()) == 0
    parts.loaded = None
    assert part_of(device, {"subdevice_id": 2}, ()) == part_of(None, {"subdevice_id": 2}, ()) == 0
