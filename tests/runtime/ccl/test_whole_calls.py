"""Ranks agree on every argument of a call that makes more of its data than a collective does."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.runtime.mpi import ROOT, mpirun, run_ranks
from tt_run.runtime import catalog
from tt_run.runtime.ccl import plans, whole_calls
from tt_run.runtime.ccl.semaphores import create_global_semaphore
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import DataType, Layout, Topology
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.mesh.view import SubDeviceId
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ShardTensor2dMesh
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG
from tt_run.runtime.tensor.tensor import Tensor

PLAIN = {
    "all_broadcast", "all_gather", "all_gather_async", "all_gather_async_reversed", "all_reduce", "all_reduce_async", "broadcast",
    "point_to_point", "reduce_scatter", "reduce_scatter_minimal_async",
}  # fmt: skip
"""Collectives as such: their plans are told all that they are called with."""


def test_every_operation_that_communicates_says_its_arguments() -> None:
    left = {
        name
        for name, operation in catalog.every().items()
        if operation.family is families.COLLECTIVE
        and not operation.short_name.endswith(("_buffer", "_buffers"))
        and inspect.unwrap(operation.compute) is operation.compute
        and operation.short_name not in PLAIN
    }
    assert not left, (
        f"put @whole_call of tt_run.runtime.ccl.whole_calls below the @operation of {sorted(left)}"
    )


@pytest.fixture
def mesh() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(2, 4))
    yield device
    device.close()


def put(mesh: MeshDevice, *shape: int, cut: int | None = None, **kind: Any) -> Tensor:
    kind = {"dtype": DataType.BFLOAT16, "layout": Layout.TILE, **kind}
    mapper = ShardTensor2dMesh(mesh, (2, 4), (None, cut))
    return from_torch(np.ones(shape, np.float32), device=mesh, mesh_mapper=mapper, **kind)


def signatures(monkeypatch: pytest.MonkeyPatch, name: str, *args: Any, **words: Any) -> list[str]:
    """What the ranks of a call compare."""
    found: list[str] = []
    make = plans._plan

    def noted(*given: Any) -> plans.Plan:
        plan = make(*given)
        found.append(str(plan.signature))
        return plan

    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    with monkeypatch.context() as patch:
        patch.setattr(plans, "_plan", noted)
        operation(*args, **words)
    return found


@pytest.mark.parametrize(
    ("word", "value", "told"),
    [
        ("epsilon", 0.5, "epsilon 0.5"),
        ("dtype", DataType.FLOAT32, "dtype FLOAT32"),
        ("memory_config", L1_MEMORY_CONFIG, "memory_config L1 INTERLEAVED"),
        ("subdevice_id", SubDeviceId(0), "subdevice_id SubDeviceId(0)"),
        ("use_noc1_only", True, "use_noc1_only True"),
    ],
)
def test_arguments_that_follow_the_exchange_are_told(
    mesh: MeshDevice, monkeypatch: pytest.MonkeyPatch, word: str, value: object, told: str
) -> None:
    x, weight = put(mesh, 1, 1, 32, 512, cut=3), put(mesh, 1, 1, 1, 512, cut=3)
    given = ("fused_rms_minimal", x, None, 1, mesh, None)
    (plain,) = signatures(monkeypatch, *given, weight=weight)
    (other,) = signatures(monkeypatch, *given, weight=weight, **{word: value})
    assert told in other and word not in plain


def test_each_tensor_is_told(mesh: MeshDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its shape, type, layout and memory, whether its data is exchanged or not; what is not given is not said."""
    x, weight = put(mesh, 1, 1, 32, 512, cut=3), put(mesh, 1, 1, 1, 512, cut=3, dtype=DataType.FLOAT32)
    (told,) = signatures(monkeypatch, "fused_rms_minimal", x, None, 1, mesh, None, weight=weight)
    assert told.endswith("mesh 0, input_tensor 1x1x32x128 BFLOAT16 TILE, weight 1x1x1x128 FLOAT32 TILE)")
    parts = [put(mesh, 1, 1, 32, 64, cut=3, memory_config=L1_MEMORY_CONFIG) for _ in range(8)]
    (told,) = signatures(
        monkeypatch, "experimental.deepseek_moe_reduce_scatter", parts, L1_MEMORY_CONFIG, 3, cluster_axis=1
    )
    assert "input_tensors 8 x 1x1x32x16 BFLOAT16 TILE L1 INTERLEAVED" in told


def test_what_means_the_same_is_told_alike(mesh: MeshDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """A default that is written out, NumPy's numbers, a dimension counted from the end, keywords in another order, other semaphores."""
    x = put(mesh, 1, 1, 32, 512, cut=3)
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))])
    semaphores = [create_global_semaphore(mesh, grid, 0) for _ in range(3)]
    name = "experimental.strided_all_gather_async"
    first = signatures(monkeypatch, name, x, None, 3, semaphores, cluster_axis=1, mm_block_ht=2)
    mesh.known.clear()
    words = {"mm_block_ht": np.int64(2), "topology": Topology.Ring, "cluster_axis": 1}
    assert first == signatures(monkeypatch, name, x, None, -1, semaphores[:2], **words)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "None"),
        (True, "True"),
        ("a, b", "a; b"),
        (np.int64(3), "3"),
        (np.float32(0.5), "0.5"),
        (Topology.Ring, "Ring"),
        ([], None),
        ([3], "3"),
        ([3, 3], "2 x 3"),
        ((3, 4), "3; 4"),
        ([3, object()], None),
        (object(), None),
    ],
)
def test_an_argument_is_said_in_few_words(value: object, said: str | None) -> None:
    assert whole_calls._said(value) == said


def test_what_is_left_to_its_default_is_not_said() -> None:
    empty = inspect.Parameter.empty
    parameters = {"x": empty, "dim": empty, "scale": 0.5, "count": 2, "semaphore": None, "mode": None}
    for args, words, said in (
        ((1,), {}, "x 1"),
        ((None,), {}, ""),
        (
            (1, 2, np.float32(0.5), np.int64(2), object()),
            {},
            "x 1",
        ),  # neither what is equal nor what each rank has its own of
        ((1, 2, 0.25), {"count": 3, "mode": "a"}, "x 1, scale 0.25, count 3, mode a"),
    ):
        assert whole_calls._arguments(parameters, args, words) == said


def test_a_call_that_failed_says_nothing_of_the_next(mesh: MeshDevice) -> None:
    x = put(mesh, 1, 1, 32, 512, cut=3)
    operation = catalog.find("ttnn.fused_rms_minimal")
    assert operation is not None
    with pytest.raises(RuntimeError, match="weight is required"):
        operation(x, None, 1, mesh, None)
    assert whole_calls.arguments_of_call() == ""


def test_what_a_call_takes_is_read_where_it_is_written(mesh: MeshDevice) -> None:
    """Annotations name classes of the operation's module, not of the one that goes around it."""
    operation = catalog.find("ttnn.reduce_to_root")
    assert operation is not None
    x = put(mesh, 8, 32)
    with pytest.raises(TypeError, match="root_coord must be of type MeshCoordinate, not int"):
        operation(x, x, x, 1)


DIVERGE = """
import numpy as np
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
rank = int(ttnn.distributed_context_get_rank())
def put(shape, dtype, dims):
    mapper = ttnn.ShardTensor2dMesh(mesh, (2, 4), dims)
    return ttnn.from_torch(np.zeros(shape), dtype=dtype, device=mesh, mesh_mapper=mapper, layout=ttnn.ROW_MAJOR_LAYOUT)
tokens, chosen = put((8, 4, 1, 32), ttnn.bfloat16, (None, 0)), put((8, 4, 1, 2 + rank), ttnn.uint16, (None, 0))
mapping = put((1, 1, 8, 8), ttnn.uint16, (None, None))
ttnn.all_to_all_dispatch(tokens, chosen, mapping, cluster_axis=1)
"""


@pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")
def test_another_shape_of_a_further_tensor_is_another_call() -> None:
    """Its rows would be read as what the own ones are."""
    env = {"TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs" / "mgd" / "t3k_2x4_two_hosts.textproto")}
    done = run_ranks(2, DIVERGE, env=env, timeout=60)
    report = done.ranks[0].stderr
    assert done.returncode == 1
    assert "error[TTG001]: ranks 0 and 1 disagree on call 2: expert_indices_tensor" in report
    assert "expert_indices_tensor 2x4x1x2 UINT16 ROW_MAJOR" in report and "program.py:11" in report
