"""What a listener enters of a program's calls, in one process: works, lines, regions, links, and errors that count for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, put
from tt_run.hardware.files import load, shipped
from tt_run.runtime import events, queues
from tt_run.runtime.ccl.collectives import all_gather
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.mesh.fabric import fabric_of
from tt_run.runtime.mesh.system import system_mesh
from tt_run.runtime.ops.products.operations import matmul
from tt_run.runtime.prediction.account import WorkAccount
from tt_run.runtime.prediction.clocks import Clocks
from tt_run.runtime.prediction.forecast import Forecast, forecast
from tt_run.runtime.prediction.listen import Listener
from tt_run.runtime.trace import begin_trace_capture, end_trace_capture, execute_trace

HARDWARE = load(shipped("wormhole")).system("t3000")


class Heard:
    def __init__(self) -> None:
        system = system_mesh()
        self.account = WorkAccount(0, 0)
        self.listener = Listener(
            self.account, fabric_of(system), tuple(range(8)), Clocks(HARDWARE, self.account)
        )

    def entries(self) -> list[tuple[str, str, int]]:
        """Region, label and how often, in their order."""
        return [(region, label, count) for region, _, label, _, _, count in self.account.part()["entries"]]

    def forecast(self) -> Forecast:
        return forecast([self.account.part()], HARDWARE, (2, 4))


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    made = Heard()
    monkeypatch.setattr(queues, "_followers", [*queues._followers, made.listener])
    leave = events.precede(made.listener.before), events.subscribe(made.listener.note)
    yield made
    for each in leave:
        each()


def step(x: Any, w: Any) -> Any:
    y = matmul(x, w)
    z = all_gather(y, 3, cluster_axis=1)
    return ops.add(z, z)


def operands(mesh: MeshDevice) -> tuple[Any, Any]:
    return put(mesh, np.ones((1, 1, 128, 64)), BF16), put(mesh, np.ones((1, 1, 64, 256)), BF16)


def test_calls_enter_once_each_with_what_they_carry(mesh: MeshDevice, heard: Heard) -> None:
    x, w = operands(mesh)
    before = len(heard.entries())
    for _ in range(2):
        step(x, w)
    assert [entry[1:] for entry in heard.entries()[before:]] == [
        ("ttnn.matmul", 2),
        ("ttnn.all_gather", 2),
        ("ttnn.add", 2),
    ]
    sites = [site for _, site, label, *_ in heard.account.part()["entries"] if label == "ttnn.add"]
    assert all("test_listen.py" in site for site in sites)
    found = heard.forecast()
    # Both directions of the three links of each row, three shards over each, twice.
    assert len(found.links) == 12 and {carried for _, _, _, carried, _ in found.links} == {
        2 * 3 * 128 * 256 * 2
    }
    assert found.total_us > 0


def test_what_raises_counts_for_nothing(mesh: MeshDevice, heard: Heard) -> None:
    x, w = operands(mesh)
    before = heard.entries()
    for _ in range(2):
        with pytest.raises((RuntimeError, TypeError)):
            matmul(x, x)
        with pytest.raises((RuntimeError, TypeError)):
            all_gather(x, 7, cluster_axis=1)
    assert heard.entries() == before and heard.listener._depth == 0
    matmul(x, w)
    assert [entry[1:] for entry in heard.entries()[len(before) :]] == [("ttnn.matmul", 1)]


def test_messages_go_to_other_ranks(heard: Heard) -> None:
    for kind, peers in (("send", (0, 1)), ("recv", (2,)), ("wait", (3,))):
        heard.listener.note(events.Event(kind, "send_bytes", 0.0, 1.0, bytes=64, peers=peers))
    assert heard.account.part()["order"] == [["send 1", 64.0], ["recv 2", 64.0]]


def test_a_trace_is_a_region_each_time_that_it_runs(mesh: MeshDevice, heard: Heard) -> None:
    x, w = operands(mesh)
    step(x, w)
    before = dict(heard.account.counts)
    trace = begin_trace_capture(mesh, cq_id=0)
    step(x, w)
    end_trace_capture(mesh, trace, cq_id=0)
    assert heard.account.counts == before  # nothing runs while it is captured
    for _ in range(3):
        execute_trace(mesh, trace, cq_id=0, blocking=True)
    regions = {region.name: region for region in heard.forecast().regions}
    name = f"trace {int(trace)}"
    assert set(regions) == {name, "rest of the program"}
    assert regions[name].passes == 3
    assert {kind: share.calls for kind, share in regions[name].classes.items()} == {
        "matmuls": 1,
        "collectives": 1,
        "elementwise": 1,
    }
    assert 0 < regions[name].us < regions["rest of the program"].us  # the host sends what is not traced
