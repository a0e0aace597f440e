"""What ranks agree on before each collective, what its result is like, and what is refused: as it was when a person last read it.

`TT_RUN_WRITE_EXPECTED=1 pytest tests/runtime/ccl/test_agreed.py` writes it again; the difference is for reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.words import same_as_read
from tt_run.runtime import catalog
from tt_run.runtime.ccl import plans
from tt_run.runtime.ccl.exchange import fabric
from tt_run.runtime.ccl.semaphores import create_global_semaphore
from tt_run.runtime.ccl.transfer_shapes import intermediate_spec
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import (
    BufferType,
    DataType,
    FabricConfig,
    Layout,
    ShardOrientation,
    TensorMemoryLayout,
    Topology,
)
from tt_run.runtime.mesh import MeshCoordinate, MeshShape, open_mesh_device
from tt_run.runtime.mesh.view import SubDeviceId
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ShardTensor2dMesh, ShardTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.values import shapes

CALLS = """\
all_gather(x, 3)
all_gather(x, -2, cluster_axis=0, topology=Topology.Linear, num_links=2, memory_config=L1)
all_gather(x, 0, cluster_axis=1, memory_config=DRAM, subdevice_id=SubDeviceId(0), num_workers_per_link=3)
all_gather(l1, 1, cluster_axis=1, chunks_per_sync=4, num_buffers_per_channel=2)
all_gather(rows, 1, topology=Topology.Ring)
all_gather(small, 3, cluster_axis=0)
all_gather(x, 4)
all_gather(x, -5)
all_gather(x, True)
all_gather(x, 3, cluster_axis=2)
all_gather(x, 3, cluster_axis=1.0)
all_gather(x, 3, topology="ring")
all_gather(x, 3, num_links=-1)
all_gather(x, 3, num_links=1.5)
all_gather(host, 3)
all_gather(5, 3)
all_gather(line, 1, cluster_axis=0)
all_gather(line, 1)
reduce_scatter(x, 3)
reduce_scatter(x, 3, cluster_axis=1, num_links=1)
reduce_scatter(rows, 0, cluster_axis=0, memory_config=L1, intermediate_memory_config=DRAM)
reduce_scatter(x, 2)
reduce_scatter(x, 2, cluster_axis=1)
reduce_scatter(rows, 1, cluster_axis=1)
reduce_scatter(rows, 0, cluster_axis=1)
reduce_scatter(x, 4, cluster_axis=1)
reduce_scatter(vector, 0, cluster_axis=1)
reduce_scatter(whole, 1, cluster_axis=1)
reduce_scatter(x, 3, cluster_axis=2)
all_reduce(x)
all_reduce(x, cluster_axis=1, topology=Topology.Linear)
all_reduce(whole, cluster_axis=0)
all_reduce(rows, cluster_axis=0, num_links=4)
all_reduce(x, cluster_axis=7)
all_broadcast(rows, cluster_axis=1)
all_broadcast(x)
broadcast(x, MeshCoordinate(1, 2), cluster_axis=0)
broadcast(x, MeshCoordinate(2, 2))
broadcast(x, (0, 1))
point_to_point(rows, MeshCoordinate(0, 1), MeshCoordinate(1, 3))
point_to_point(rows, MeshCoordinate(0, 1), MeshCoordinate(0, 1))
point_to_point(rows, MeshCoordinate(0, 1), MeshCoordinate(0, 4))
mesh_partition(x, 3)
mesh_partition(x, 3, cluster_axis=1)
mesh_partition(x, 2, cluster_axis=0)
mesh_partition(x, 5)
mesh_partition(x, -5)
mesh_partition(x, 3, cluster_axis=2)
mesh_partition(rows, 1, cluster_axis=1)
experimental.all_gather_async(x, 3, multi_device_global_semaphore=pair)
experimental.all_gather_async(x, dim=3, cluster_axis=1, mesh_device=device, topology=Topology.Linear, multi_device_global_semaphore=pair)
experimental.reduce_scatter_minimal_async(x, dim=3, multi_device_global_semaphore=three, cluster_axis=1)
experimental.all_reduce_async(x, cluster_axis=1, mesh_device=device, barrier_semaphores=pair, rs_global_semaphores=three, ag_global_semaphores=pair)
experimental.all_to_all_async_generic(x, 2, 3, cluster_axis=1)
experimental.all_to_all_async_generic(x, 3, 2, cluster_axis=1)
experimental.all_to_all_async_generic(x, 3, 3, cluster_axis=1)
experimental.reduce_scatter_minimal_direct(x, 3, cluster_axis=1)
experimental.strided_all_gather_async(x, 3, cluster_axis=1)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, input_batch_index=0)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, gathered_dim_size=1024)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, input_batch_index=0, input_batch_index_tensor=number)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, gathered_dim_size=64, gathered_prefix_tensor=number)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, input_batch_index_tensor=x)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, gathered_prefix_tensor=whole)
experimental.high_bw_all_gather(x, 0, wide, cluster_axis=1, input_batch_index=0)
experimental.high_bw_all_gather(x, -4, wide, cluster_axis=1, input_batch_index=0)
experimental.high_bw_all_gather(x, 1, wide, cluster_axis=1, input_batch_index=0)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, input_batch_index=-1)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, input_batch_index=1)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, input_batch_index_tensor=number, batch_slot_num_layers=2)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, input_batch_index_tensor=number, batch_slot_num_layers=0)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, input_batch_index_tensor=number, batch_slot_layer_idx=1)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, input_batch_index_tensor=number, batch_slot_layer_idx=-1)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, gathered_dim_size=0)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, gathered_dim_size=1025)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, gathered_dim_size=66)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, gathered_dim_size=64, gathered_slab_global=64)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, gathered_prefix_tensor=number)
experimental.high_bw_all_gather(x, 3, wide, cluster_axis=1, gathered_prefix_tensor=number, gathered_slab_global=2048)
experimental.high_bw_all_gather(x, 3, x, cluster_axis=1, gathered_dim_size=64)
experimental.high_bw_all_gather(slots, 3, slot, cluster_axis=1, input_batch_index_tensor=number)
experimental.high_bw_all_gather(slots, 3, slot, cluster_axis=1, input_batch_index_tensor=number, batch_slot_num_layers=2, batch_slot_layer_idx=1)
experimental.high_bw_all_gather(slots, 3, slot, cluster_axis=1, input_batch_index_tensor=number, batch_slot_num_layers=2, batch_slot_layer_idx=2)
experimental.high_bw_all_gather(slots, 3, slot, cluster_axis=1, input_batch_index_tensor=number, batch_slot_num_layers=4)
experimental.high_bw_all_gather(slots, 3, slot, cluster_axis=1, input_batch_index=3)
experimental.high_bw_all_gather(slots, 3, slot, cluster_axis=1, input_batch_index=4)
experimental.llama_rs_create_heads(x, x, 0, three[0], SubDeviceId(0), 1, device, Topology.Linear, num_heads=4, num_kv_heads=2)
experimental.llama_rs_create_heads(x, x, 4, three[0], SubDeviceId(0), 1, device, Topology.Linear, num_heads=4, num_kv_heads=2)
experimental.llama_rs_create_heads(x, x, -2, three[0], SubDeviceId(0), 1, device, Topology.Linear, num_heads=4, num_kv_heads=2)
experimental.llama_rs_create_heads(x, x, 3, three[0], SubDeviceId(0), 0, device, Topology.Linear, num_heads=4, num_kv_heads=2)
experimental.llama_rs_create_heads(x, x, -1, three[0], SubDeviceId(0), 1, device, Topology.Linear, num_heads=4, num_kv_heads=2)
experimental.llama_rs_create_heads(by_core, x, -1, three[0], SubDeviceId(0), 1, device, Topology.Linear, num_heads=4, num_kv_heads=2)
experimental.llama_rs_create_heads(by_core, by_core, 3, three[0], SubDeviceId(0), 1, device, Topology.Linear, num_heads=4, num_kv_heads=2)
experimental.llama_rs_create_heads(by_core, short, 3, three[0], SubDeviceId(0), 1, device, Topology.Linear, num_heads=4, num_kv_heads=2)
experimental.llama_rs_create_heads(by_core, by_core, 3, three[0], SubDeviceId(0), 1, device, Topology.Linear, num_heads=4, num_kv_heads=2, qkv_memory_config=by_core.memory_config())
all_broadcast(host)
experimental.all_gather_async(host, None, 0, pair, cluster_axis=1)
all_gather(part, 3)
all_gather(part, 3, cluster_axis=1)
all_gather(x, 3, num_links=0)
all_reduce(x, memory_config=L1)
all_reduce(l1, subdevice_id=SubDeviceId(0))
all_reduce(part)
all_reduce(part, cluster_axis=1)
reduce_scatter(part, 3)
reduce_scatter(part, 2, cluster_axis=1)
all_broadcast(part)
mesh_partition(part, 3)
all_gather(five, 0)
all_reduce(five)
point_to_point(five, MeshCoordinate(0, 0), MeshCoordinate(0, 1))
point_to_point(five, MeshCoordinate(0, 0), MeshCoordinate(1, 2))
broadcast(five, MeshCoordinate(0, 0))
all_gather(one, 1)
all_gather(one, 1, cluster_axis=1)
all_gather(column, 1, cluster_axis=1)
all_gather(column, 1, cluster_axis=0)
all_gather(cut, 3, cluster_axis=1)
mesh_partition(cut, 2, cluster_axis=0)
mesh_partition(cut, 3, cluster_axis=1)
mesh_partition(cut, 1, cluster_axis=0)
reduce_scatter(cut, 2, cluster_axis=0)
"""


PLAIN = (
    *("all_gather", "reduce_scatter", "all_reduce", "all_broadcast", "broadcast"),
    *("point_to_point", "mesh_partition"),
)


def told(call: str, names: dict[str, Any], agreed: list[plans.Plan]) -> str:
    agreed.clear()
    try:
        found = eval(call, names)
    except (RuntimeError, TypeError, ValueError) as error:
        # Without signatures, and without numbers of lines, which move.
        text = (
            str(error).rpartition("\n    ")[2].partition("\n")[2]
            if isinstance(error, TypeError)
            else str(error)
        )
        text = text.replace("\n", "\n  ")
        return re.sub(r"\.py:\d+", ".py", f"{type(error).__name__}: {text}")
    planned = len(agreed)
    again = eval(call, names)
    assert len(agreed) == planned, "a call that is made again has its plan"
    assert spec_of(again) == spec_of(found)
    if "wide" not in call:  # which would be left without values
        with shapes.only():
            assert spec_of(eval(call, names)) == spec_of(found)
    lines = [
        f"{plan.signature}; firm {plan.detail!r}, {plan.nbytes} B of each, links {plan.links}, line {plan.line}, whole {plan.whole}"
        for plan in agreed
    ]
    for each in found if isinstance(found, (list, tuple)) else [found]:
        topology = re.sub(r"mesh_coords=.*", "…", str(each.tensor_topology()))
        lines.append(
            f"-> {each.shape} of {each.padded_shape}, {each.dtype.name} {each.layout.name},"
            f" {each.memory_config().buffer_type.name}, shards {each.shards.index}, {topology}"
        )
    return "\n  ".join(dict.fromkeys(lines))


def spec_of(found: Any) -> list[Any]:
    return [each.spec for each in (found if isinstance(found, (list, tuple)) else [found])]


class Forms:
    """The functions of a namespace by name."""

    def __init__(self, start: str) -> None:
        self._start = start

    def __getattr__(self, name: str) -> Any:
        found = catalog.find(f"{self._start}{name}")
        assert found is not None, name
        return found


@pytest.fixture
def names() -> Iterator[dict[str, Any]]:
    device = open_mesh_device(MeshShape(2, 4), l1_small_size=16384)
    part = device.create_submesh(MeshShape(1, 2))
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))])
    semaphores = [create_global_semaphore(device, grid, 0) for _ in range(3)]

    def put(shape: tuple[int, ...], dim: int | None, on: Any = device, **more: Any) -> Any:
        mapper = None if dim is None else ShardTensorToMesh(on, dim=dim)
        more = {"layout": Layout.TILE, "dtype": DataType.BFLOAT16, "device": on, **more}
        return from_torch(np.ones(shape, np.float32), mesh_mapper=mapper, **more)

    def cut_by(piece: tuple[int, int]) -> MemoryConfig:
        spec = ShardSpec(grid, piece, ShardOrientation.ROW_MAJOR)
        return MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, spec)

    plain = Forms("ttnn.")
    yield {
        "device": device,
        "x": put((1, 1, 64, 2048), 3),
        "l1": put((1, 8, 32, 32), 1, memory_config=L1_MEMORY_CONFIG),
        "rows": put((16, 50), 0, layout=Layout.ROW_MAJOR, dtype=DataType.FLOAT32),
        "small": put((1, 1, 8, 1, 33)[1:], 1),
        "whole": put((8, 64), 0, layout=Layout.ROW_MAJOR, dtype=DataType.INT32),
        "one": put((1, 64), 0, device.create_submesh(MeshShape(1, 1)), layout=Layout.ROW_MAJOR),
        "column": put((2, 64), 0, device.create_submesh(MeshShape(2, 1)), layout=Layout.ROW_MAJOR),
        "cut": from_torch(
            np.ones((1, 2, 128, 512), np.float32), layout=Layout.TILE, device=device,
            mesh_mapper=ShardTensor2dMesh(device, (2, 4), (2, 3)),
        ),
        "five": put((5, 64), 0, layout=Layout.ROW_MAJOR),
        "vector": put((64,), 0, layout=Layout.ROW_MAJOR),
        "line": put((2, 64), 0, part, layout=Layout.ROW_MAJOR),
        "part": put((1, 1, 32, 128), 3, part),
        "wide": put((1, 1, 64, 1024), None),
        "slots": put((4, 1, 32, 64), None),
        "slot": put((1, 1, 32, 256), None),
        "by_core": put((1, 1, 32, 256), None, memory_config=cut_by((32, 64))),
        "short": put((1, 1, 64, 64), None, memory_config=cut_by((64, 16)), layout=Layout.ROW_MAJOR),
        "number": put((1,), None, layout=Layout.ROW_MAJOR, dtype=DataType.UINT32),
        "host": put((1, 1, 32, 32), None, device=None),
        "pair": semaphores[:2],
        "three": semaphores,
        "L1": L1_MEMORY_CONFIG,
        "DRAM": DRAM_MEMORY_CONFIG,
        "Topology": Topology,
        "MeshCoordinate": MeshCoordinate,
        "SubDeviceId": SubDeviceId,
        "experimental": Forms("ttnn.experimental."),
        **{name: getattr(plain, name) for name in PLAIN},
    }  # fmt: skip
    device.close()


def test_what_ranks_agree_on_is_as_it_was_read(
    names: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    agreed: list[plans.Plan] = []
    make = plans._plan

    def noted(*words: Any) -> plans.Plan:
        agreed.append(make(*words))
        return agreed[-1]

    monkeypatch.setattr(plans, "_plan", noted)
    lines = [f"{call}\n  {told(call, names, agreed)}" for call in CALLS.splitlines()]
    spots = MeshCoordinate(0, 0), MeshCoordinate(0, 1)
    for name in ("x", "l1", "rows", "whole", "small"):
        spec = intermediate_spec(names[name], *spots)
        lines.append(f"packets of {name}: {spec.shape}, {spec.dtype.name} {spec.layout.name}")
    names["device"].close()
    fabric.set_fabric_config(FabricConfig.FABRIC_1D)
    try:
        device = open_mesh_device(MeshShape(2, 4))
        x, y = (
            from_torch(np.ones(shape, np.float32), layout=Layout.TILE, device=device)
            for shape in ((1, 1, 32, 256), (1, 8, 32, 32))
        )
        for call in (
            "all_gather(x, 3, cluster_axis=1)",
            "all_gather(x, 3)",
            "reduce_scatter(x, 3)",
            "reduce_scatter(y, 1)",
            "all_reduce(x)",
        ):
            lines.append(
                f"{call} over {fabric.get_fabric_config().name}\n  {told(call, {**names, 'x': x, 'y': y}, agreed)}"
            )
        device.close()
    finally:
        fabric.set_fabric_config(FabricConfig.DISABLED)
    same_as_read("\n".join(lines) + "\n", Path(__file__).with_name("agreed.txt"))
