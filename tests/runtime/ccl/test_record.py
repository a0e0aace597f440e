"""A collective is one record, and none gets into the catalogue without what the ledger needs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ccl.experts
import tt_run.runtime.ccl.reduce_to_root
import tt_run.runtime.ccl.single_shards  # noqa: F401 - their records
from tt_run.runtime import events, traffic
from tt_run.runtime.ccl import record, result_topology
from tt_run.runtime.ccl.calls import run
from tt_run.runtime.ccl.collectives import ALL_GATHER, ALL_REDUCE
from tt_run.runtime.ccl.exchange import gather
from tt_run.runtime.ccl.plans import planned
from tt_run.runtime.ccl.record import COLLECTIVES, Collective, Intent, collective_named
from tt_run.runtime.events import Event
from tt_run.runtime.listeners.ledger import Ledger
from tt_run.runtime.mesh import MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ReplicateTensorToMesh
from tt_run.runtime.traffic import Fabric, Load


def check(*_: Any) -> Intent:
    return Intent((1, 1, 2, 8), 3, (3,))


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Collective]]:
    """A copy that a test may add to."""
    copy = dict(COLLECTIVES)
    monkeypatch.setattr(record, "_COLLECTIVES", copy)
    yield copy


@pytest.mark.parametrize("pattern", [None, "ring", lambda devices, size: []])
def test_a_collective_without_a_traffic_pattern_cannot_be_declared(
    catalogue: dict[str, Collective], pattern: Any
) -> None:
    with pytest.raises(TypeError, match="the collective gather_twice has no traffic pattern"):
        Collective("gather_twice", check, gather.all_gather, pattern, result_topology.replicated)
    assert "gather_twice" not in catalogue
    with pytest.raises(TypeError):
        Collective("gather_twice", check, gather.all_gather, placing=result_topology.replicated)  # type: ignore[call-arg]


def test_a_new_record_is_run_announced_and_booked(catalogue: dict[str, Collective]) -> None:
    new = Collective(
        "gather_twice", check, gather.all_gather, traffic.RING_GATHER, result_topology.replicated
    )
    assert catalogue["gather_twice"] is collective_named("gather_twice") is new
    ledger = Ledger(Fabric((2, 4)))
    device = open_mesh_device(MeshShape(2, 4))
    values = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)
    tensor = from_torch(values, device=device, mesh_mapper=ReplicateTensorToMesh(device))
    leave = events.subscribe(ledger.note)
    try:
        shards = run(planned(new, tensor, 1), tensor)
    finally:
        leave()
        device.close()
    assert np.array_equal(shards.data[0], np.concatenate([values] * 4, 3))
    (entry,) = ledger.part()["collectives"]
    assert (entry["name"], entry["axis"], entry["calls"]) == ("gather_twice", "1", 1)
    assert entry["bytes"] == 8 * 3 * values.nbytes


def test_a_name_is_taken_once(catalogue: dict[str, Collective]) -> None:
    with pytest.raises(ValueError, match="there is a collective all_gather already"):
        Collective("all_gather", check, gather.all_gather, traffic.RING_GATHER, result_topology.replicated)


def test_an_event_of_an_undeclared_collective_is_no_zero_in_the_ledger() -> None:
    ledger = Ledger(Fabric((1, 2)))
    with pytest.raises(LookupError, match="'all_gathr', which has no record"):
        ledger.note(Event("collective", "all_gathr", 0.0, 1.0, groups=((0, 1),), devices=(0,), bytes=8))


def test_every_record_moves_something() -> None:
    assert COLLECTIVES
    for collective in COLLECTIVES.values():
        messages = collective.traffic.messages([0, 1, 2, 3], 4096, Fabric((1, 4)))
        assert messages and all(message.size > 0 for message in messages), collective.name


def test_what_links_carry_is_derived_from_the_pattern() -> None:
    line = Fabric((1, 4))
    loads = ALL_GATHER.traffic.loads([(0, 1), (2, 3)], 100, line)
    assert loads == {link: Load(Fraction(100), 1) for link in ((0, 1), (1, 0), (2, 3), (3, 2))}
    around = ALL_REDUCE.traffic.loads([(0, 1, 2, 3)], 100, line)
    # The last message of a ring goes home over the whole line.
    assert around == {
        link: Load(Fraction(150), 6) for a, b in ((0, 1), (1, 2), (2, 3)) for link in ((a, b), (b, a))
    }


def test_who_reads_records_knows_no_collective_by_name() -> None:
    """Ledger, guard, timeline and traffic work for a collective that did not exist when they were written."""
    package = Path(record.__file__).resolve().parents[1]
    readers = [
        package / f"{name}.py"
        for name in ("listeners/ledger", "timeline/trace", "traffic", "events", "listeners/replicas")
    ]
    named = [
        f"{path.relative_to(package)}: {name}"
        for path in (*readers, *(package / "guard").glob("*.py"))
        for name in COLLECTIVES
        # A pattern says what data files call its algorithm, which is the name of the collective that was measured.
        if any(f'"{name}"' in line for line in path.read_text().splitlines() if " = Pattern(" not in line)
    ]
    assert not named
