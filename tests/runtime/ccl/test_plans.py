"""What a mesh remembers of its collectives, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, put
from tt_run.runtime import catalog, events
from tt_run.runtime.ccl import calls, plans
from tt_run.runtime.ccl.collectives import ALL_GATHER, all_gather
from tt_run.runtime.ccl.exchange.shard_locations import outline_of
from tt_run.runtime.ccl.plans import planned
from tt_run.runtime.enums import Topology
from tt_run.runtime.errors import ArgumentMismatch
from tt_run.runtime.mesh import MeshDevice, MeshShape, captures, open_mesh_device


@pytest.fixture
def row() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(1, 4))
    yield device
    device.close()


def kinds(device: MeshDevice) -> list[Any]:
    return [key[0] for key in device.known if isinstance(key[0], str)]


@pytest.mark.parametrize(("room", "kept"), [(1, False), (2, True)])
def test_a_mesh_forgets_its_plans_when_there_are_too_many(
    row: MeshDevice, monkeypatch: pytest.MonkeyPatch, room: int, kept: bool
) -> None:
    """The placement of the operand is remembered before its plan, and is the first to go."""
    tensor = put(row, np.ones((4, 4)), BF16)
    row.known.clear()
    monkeypatch.setattr(plans, "_REMEMBERED", room)
    plan = planned(ALL_GATHER, tensor, 1, 0)
    assert ("operand" in kinds(row)) is kept
    assert planned(ALL_GATHER, tensor, 1, 0) is plan


def test_a_capture_of_another_mesh_is_none_of_this_one(
    row: MeshDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensor = put(row, np.ones((4, 4)), BF16)
    plan = planned(ALL_GATHER, tensor, 1, 0)
    other = open_mesh_device(MeshShape(1, 2))
    monkeypatch.setattr(captures, "covering", {id(other): 1})
    monkeypatch.setattr(plans, "is_captured", lambda device: device is other)
    assert planned(ALL_GATHER, tensor, 1, 0) is plan
    other.close()


@pytest.mark.parametrize(
    ("tuning", "refused"),
    [
        ((Topology.Ring, 1, None), None),
        ((None, 0, None), None),
        ((None, np.int64(2), None), None),
        ((None, -1, None), "num_links must be a count of links, not -1"),
        ((None, 1.0, None), "num_links must be a count of links, not 1.0"),
        ((None, "2", None), "num_links must be a count of links, not '2'"),
        (("ring", 1, None), "topology must be a Topology, not str\nhelp: ttnn.Topology.Ring"),
        ((1, 1, None), "topology must be a Topology, not int\nhelp: ttnn.Topology.Linear"),
    ],
)
def test_links_and_topologies_are_such(row: MeshDevice, tuning: Any, refused: str | None) -> None:
    tensor = put(row, np.ones((4, 4)), BF16)
    if refused is None:
        assert planned(ALL_GATHER, tensor, 1, 0, tuning).links == tuning[1]
        return
    with pytest.raises(ArgumentMismatch) as error:
        planned(ALL_GATHER, tensor, 1, 0, tuning)
    assert str(error.value).startswith(refused)


def test_a_result_lies_where_it_is_given_then_where_it_is_asked_for_then_as_its_operand(
    row: MeshDevice,
) -> None:
    spec = put(row, np.ones((4, 4)), BF16).spec
    for tuning, found in (
        (None, spec.memory_config),
        ((None, None, None), spec.memory_config),
        ((None, None, "asked"), "asked"),
        ((None, None, "asked", None, None, "given"), "given"),
        ((None, None, None, None, None, "given"), "given"),
        ((None, None, "asked", "1"), "asked"),
    ):
        assert plans._memory_of_result(tuning, spec) == found  # type: ignore[arg-type]


def test_states_of_a_compressor_are_booked_by_their_rows_and_depth(row: MeshDevice) -> None:
    """Keys and scores of 64 rows, two bytes an element."""
    states = [put(row, np.ones((1, 1, 64, 96)), BF16) for _ in range(4)]
    exchange = catalog.find("ttnn.experimental.deepseek_prefill.compressor_state_exchange")
    assert exchange is not None
    seen: list[events.Event] = []
    stop = events.subscribe(seen.append)
    try:
        exchange(*states, cluster_axis=1)
    finally:
        stop()
    (event,) = [each for each in seen if each.kind == "collective"]
    assert (event.bytes, event.detail) == (2 * 64 * 96 * 2, "state (96,)")
    assert event.groups == ((0, 1, 2, 3),) and event.axis == 1
    assert event.site.startswith(__file__)


def test_what_is_known_of_an_exchange_is_found_once_for_each_window(
    row: MeshDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensor = put(row, np.ones((4, 4)), BF16)
    made: list[Any] = []

    def noted(*given: Any) -> Any:
        made.append(given)
        return outline_of(*given)

    monkeypatch.setattr(calls, "outline_of", noted)
    row.known.clear()
    for _ in range(3):
        all_gather(tensor, 0)
    assert len(made) == 1
    (plan,) = (
        known[1]
        for known in row.known.values()
        if isinstance(known, tuple) and isinstance(known[1], plans.Plan)
    )
    (part,) = plan.parts
    for outline in part.outlines.values():
        outline.window = object()
    for _ in range(3):
        all_gather(tensor, 0)
    assert len(made) == 2  # its ranks share another memory now
