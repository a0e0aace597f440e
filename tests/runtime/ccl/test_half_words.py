"""What travels in 16 bits: bfloat16 from host to host. float32 would lose its lower half, and inside a host the conversion costs more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import put
from tt_run.runtime.ccl import single_shards
from tt_run.runtime.ccl.calls import gathered
from tt_run.runtime.ccl.collectives import ALL_GATHER
from tt_run.runtime.ccl.exchange import lanes
from tt_run.runtime.ccl.exchange.wire import Alone, HalfWords
from tt_run.runtime.ccl.plans import planned
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshShape, open_mesh_device

WHERE = [
    (DataType.BFLOAT16, False, True),
    (DataType.BFLOAT16, True, False),
    (DataType.FLOAT32, False, False),
    (DataType.FLOAT32, True, False),
]


class Wire(Alone):
    """To a rank that receives; what it is sent is kept."""

    def __init__(self) -> None:
        self.sent: list[np.dtype[Any]] = []

    def swap(self, sends: Any, recvs: Any, meanwhile: Any = None) -> None:
        self.sent += [array.dtype for _, array in sends]


@pytest.mark.parametrize(("kind", "same_host", "halves"), WHERE)
def test_bfloat16_travels_in_16_bits_between_hosts(
    monkeypatch: pytest.MonkeyPatch, kind: DataType, same_host: bool, halves: bool
) -> None:
    monkeypatch.setattr(Wire, "same_host", same_host)
    monkeypatch.setattr(lanes, "Alone", Wire)
    mesh = open_mesh_device(MeshShape(1, 2))
    tensor = put(mesh, np.ones((1, 1, 32, 32)), kind)
    plan = planned(ALL_GATHER, tensor, 1, 3)
    assert {isinstance(part.lane.wire, HalfWords) for part in plan.parts} == {halves}
    seen: list[bool] = []
    call: Any = SimpleNamespace(
        plan=SimpleNamespace(
            lanes=plan.lanes, algorithm=lambda rows: seen.append(isinstance(rows.wire, HalfWords)) or {}
        ),
        tensor=tensor,
    )
    gathered(call, tensor)
    assert seen == [halves]
    wire = Wire()
    monkeypatch.setattr(single_shards, "world", lambda: SimpleNamespace(rank=0, group=tuple))
    monkeypatch.setattr(single_shards, "Ranks", lambda group: wire)
    call.plan.device = mesh
    assert single_shards._carried(call, 0, [0, 1]) is not None
    assert wire.sent == [np.dtype(np.uint16 if halves else np.float32)]
    mesh.close()
