"""Collectives on tensors of one process, against NumPy: values, placement, memory, refusals."""

import numpy as np
import pytest

from tests.runtime.ccl import reference
from tt_run import contract
from tt_run.runtime import events
from tt_run.runtime.ccl.asynchronous import all_gather_async, all_reduce_async, reduce_scatter_minimal_async
from tt_run.runtime.ccl.collectives import all_broadcast, all_gather, all_reduce, gather_as, reduce_scatter
from tt_run.runtime.ccl.exchange import fabric
from tt_run.runtime.ccl.halos import slice_reshard_async
from tt_run.runtime.ccl.scatter_forms import (
    reduce_scatter_minimal_async_create_intermediate_buffer as intermediate_buffers,
)
from tt_run.runtime.ccl.semaphores import create_global_semaphore
from tt_run.runtime.ccl.single_shards import broadcast, mesh_partition, point_to_point
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
from tt_run.runtime.guard.signature import code_of
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.mesh.view import SubDeviceId
from tt_run.runtime.ops import to_memory_config
from tt_run.runtime.ops.attention.caches import fill_cache
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import (
    ReplicateTensorToMesh,
    ShardTensor2dMesh,
    ShardTensorToMesh,
)
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.values import shapes

MESH = (2, 4)


@pytest.fixture
def device():
    device = open_mesh_device(MeshShape(*MESH))
    yield device
    device.close()


def sharded(device, shape, dim, dtype=DataType.FLOAT32, layout=Layout.TILE, seed=0):
    """Random values, one chunk of `dim` per device; the tensor and its shards."""
    whole = list(shape)
    whole[dim] *= 8
    values = np.random.default_rng(seed).standard_normal(whole).astype(np.float32)
    tensor = from_torch(
        values, dtype=dtype, layout=layout, device=device, mesh_mapper=ShardTensorToMesh(device, dim=dim)
    )
    return tensor, [np.array(a) for a in tensor.shards.each()]


def shards_of(tensor):
    return list(tensor.shards.each())


def same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        assert a.tobytes() == np.ascontiguousarray(b).tobytes()


def message(error):
    return str(error.value).partition("info:\n")[2]


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("shape", [(1, 1, 32, 32), (1, 3, 7, 5), (33, 65)])
def test_all_gather(device, axis, shape):
    for dim in range(-1, len(shape)):
        tensor, shards = sharded(device, shape, dim)
        found = all_gather(tensor, dim, cluster_axis=axis, topology=Topology.Ring, num_links=1)
        same(
            shards_of(found),
            reference.expected("all_gather", MESH, shards, axis, dim),
        )
        assert list(found.shape) == list(shards_of(found)[0].shape)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize(
    ("dtype", "rounding"), [(DataType.FLOAT32, None), (DataType.BFLOAT16, reference.bfloat16)]
)
def test_sums_are_in_device_order_and_rounded_once(device, axis, dtype, rounding):
    tensor, shards = sharded(device, (1, 2, 24, 40), 3, dtype)
    found = all_reduce(tensor, cluster_axis=axis)
    same(shards_of(found), reference.expected("all_reduce", MESH, shards, axis, rounding=rounding))
    for dim in (2, 3, -1):
        found = reduce_scatter(tensor, dim, cluster_axis=axis)
        same(shards_of(found), reference.expected("reduce_scatter", MESH, shards, axis, dim, rounding))


def test_block_floats_are_rounded_as_rows(device):
    tensor, shards = sharded(device, (1, 1, 32, 40), 3, DataType.BFLOAT8_B)
    total = from_torch(reference.ordered_sum(shards), dtype=DataType.BFLOAT8_B, layout=Layout.TILE)
    same(shards_of(all_reduce(tensor)), [total.shards.of(0)] * 8)
    cut = np.split(reference.ordered_sum(shards), 8, 3)[5]
    rounded = from_torch(np.ascontiguousarray(cut), dtype=DataType.BFLOAT8_B, layout=Layout.TILE).shards.of(0)
    assert shards_of(reduce_scatter(tensor, 3))[5].tobytes() == rounded.tobytes()


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_replicas_count_once_per_device_and_are_stored_once(device, axis):
    values = np.random.default_rng(1).standard_normal((1, 1, 8, 24)).astype(np.float32)
    tensor = from_torch(values, device=device, mesh_mapper=ReplicateTensorToMesh(device))
    gathered, total = all_gather(tensor, 2, cluster_axis=axis), all_reduce(tensor, cluster_axis=axis)
    same(shards_of(gathered), reference.expected("all_gather", MESH, [values] * 8, axis, 2))
    same(shards_of(total), reference.expected("all_reduce", MESH, [values] * 8, axis))
    assert len(gathered.shards.data) == len(total.shards.data) == 1


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_what_is_broadcast_holds_no_other_member(device, axis):
    """Each next step would compute them all, and writing into what all devices share would not fit."""
    tensor, _ = sharded(device, (1, 1, 32, 32), 3)
    for found in all_broadcast(tensor, cluster_axis=axis):
        assert len(found.shards.data) == {None: 1, 0: 4, 1: 2}[axis]
        cache = from_torch(
            np.zeros((1, 1, 64, 32), np.float32),
            layout=Layout.TILE,
            device=device,
            mesh_mapper=ReplicateTensorToMesh(device),
        )
        fill_cache(cache, found, 0)
        for kept, written in zip(cache.shards.each(), found.shards.each(), strict=True):
            assert np.array_equal(kept[:, :, :32], written)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_all_broadcast_and_partition(device, axis):
    tensor, shards = sharded(device, (1, 1, 6, 256), 2)
    found = all_broadcast(tensor, cluster_axis=axis)
    wanted = reference.expected("all_broadcast", MESH, shards, axis)
    for i, one in enumerate(found):
        same(shards_of(one), [members[i] for members in wanted])
    part = mesh_partition(tensor, 3, axis)
    same(shards_of(part), reference.expected("mesh_partition", MESH, shards, axis, 3))
    same(shards_of(all_gather(part, 3, cluster_axis=axis)), gathered_back(shards, axis))


def test_parts_of_tiles_begin_at_their_borders(device):
    tensor, _ = sharded(device, (1, 1, 64, 64), 2)
    assert tuple(mesh_partition(tensor, 3, 0).shape) == (1, 1, 64, 32)
    for dim, axis, word in ((3, 1, "width"), (2, 1, "height"), (-1, None, "width")):
        with pytest.raises(RuntimeError, match=f"slice tilized tensor with {word} begin index aligned"):
            mesh_partition(tensor, dim, axis)
    line, _ = sharded(device, (512,), 0)
    with pytest.raises(RuntimeError, match="slice tilized tensor with height begin index aligned"):
        mesh_partition(line, 0, 0)
    rows, _ = sharded(device, (1, 1, 64, 64), 2, layout=Layout.ROW_MAJOR)
    assert tuple(mesh_partition(rows, 3, 1).shape) == (1, 1, 64, 16)


def test_a_part_on_cores_fits_the_pieces_that_it_came_from(device):
    tensor, _ = sharded(device, (1, 1, 64, 64), 2)
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])
    for kind, piece, refused in (
        (TensorMemoryLayout.HEIGHT_SHARDED, (32, 64), "Shard width 64 must match physical width 32"),
        (TensorMemoryLayout.BLOCK_SHARDED, (64, 32), None),
    ):
        spec = ShardSpec(cores, piece, ShardOrientation.ROW_MAJOR)
        cut = to_memory_config(tensor, MemoryConfig(kind, BufferType.L1, spec))
        if refused is None:
            assert mesh_partition(cut, 3, 0).memory_config() == cut.memory_config()
            continue
        with pytest.raises(RuntimeError, match=refused):
            mesh_partition(cut, 3, 0)
        assert not mesh_partition(cut, 3, 0, memory_config=DRAM_MEMORY_CONFIG).is_sharded()


def gathered_back(shards, axis):
    """Partition i of member i, joined."""
    parts = reference.expected("mesh_partition", MESH, shards, axis, 3)
    return reference.expected("all_gather", MESH, parts, axis, 3)


def test_broadcast_reaches_the_group_of_the_sender(device):
    tensor, shards = sharded(device, (3, 5), 0)
    same(shards_of(broadcast(tensor, MeshCoordinate(1, 2))), [shards[6]] * 8)
    row = shards_of(broadcast(tensor, MeshCoordinate(1, 2), cluster_axis=1))
    same(row, [*shards[:4], *[shards[6]] * 4])
    column = shards_of(broadcast(tensor, MeshCoordinate(1, 2), cluster_axis=0))
    same(column, [shards[i] if i not in (2, 6) else shards[6] for i in range(8)])


def test_point_to_point_fills_one_shard(device):
    tensor, shards = sharded(device, (3, 5), 0)
    found = point_to_point(tensor, MeshCoordinate(0, 1), MeshCoordinate(1, 3))
    same(shards_of(found), [*[np.zeros_like(shards[0])] * 7, shards[1]])
    other, kept = sharded(device, (3, 5), 0, seed=9)
    assert (
        point_to_point(tensor, MeshCoordinate(0, 1), MeshCoordinate(0, 1), output_tensor=other).storage
        is other.storage
    )
    same(shards_of(other), [kept[0], shards[1], *kept[2:]])


def test_in_shapes_a_device_that_receives_holds_a_shard(device):
    with shapes.only():
        five = from_torch(
            np.ones((5, 4), np.float32), device=device, mesh_mapper=ShardTensorToMesh(device, dim=0)
        )
        other = from_torch(
            np.ones((5, 4), np.float32), device=device, mesh_mapper=ShardTensorToMesh(device, dim=0)
        )
        assert [place < 0 for place in five.shards.index] == [False] * 5 + [True] * 3
        found = point_to_point(five, MeshCoordinate(0, 1), MeshCoordinate(1, 2), output_tensor=other)
        assert [place < 0 for place in found.shards.index] == [False] * 5 + [True, False, True]
        row = broadcast(five, MeshCoordinate(0, 1), cluster_axis=0)
        assert [place < 0 for place in row.shards.index] == [False] * 6 + [True] * 2


@pytest.mark.parametrize(
    ("shape", "dtype", "layout", "packets"),
    [
        # Payload and header are 4400 bytes: two tiles of 2048 bytes, one of 4096.
        ((1, 1, 32, 64), DataType.BFLOAT16, Layout.TILE, (1, 2048)),
        ((1, 1, 3, 128), DataType.BFLOAT16, Layout.TILE, (2, 2048)),
        ((1, 1, 96, 96), DataType.FLOAT32, Layout.TILE, (9, 1024)),
        # Rows as they are aligned; as many as there are; bfloat16 in packets of 4096; a row of several packets.
        ((1, 1, 2, 17), DataType.BFLOAT16, Layout.ROW_MAJOR, (1, 48)),
        ((1, 1, 250, 250), DataType.BFLOAT16, Layout.ROW_MAJOR, (32, 2048)),
        ((1, 1, 250, 250), DataType.FLOAT32, Layout.ROW_MAJOR, (63, 1008)),
        ((256, 64), DataType.BFLOAT16, Layout.ROW_MAJOR, (8, 2048)),
        ((256, 64), DataType.UINT16, Layout.ROW_MAJOR, (8, 2176)),
        ((1, 1, 1, 7168), DataType.BFLOAT16, Layout.ROW_MAJOR, (4, 2048)),
        ((1, 1, 1, 7168), DataType.FLOAT32, Layout.ROW_MAJOR, (7, 1100)),
    ],
)
def test_packets_hold_whole_pages(row, shape, dtype, layout, packets):
    tensor = from_torch(np.zeros(shape, np.float32), dtype, layout=layout, device=row)
    found = intermediate_spec(tensor, MeshCoordinate(0, 0), MeshCoordinate(0, 1))
    assert (tuple(found.shape), found.dtype, found.layout) == (packets, dtype, layout)


def test_packets_of_two_dimensions_have_more_of_a_route(row, fabric_setting):
    rows = from_torch(np.zeros((1, 1, 1, 7168), np.float32), layout=Layout.ROW_MAJOR, device=row)
    sizes = []
    for config in (FabricConfig.FABRIC_1D, FabricConfig.FABRIC_2D):
        fabric_setting(config)
        found = intermediate_spec(rows, MeshCoordinate(0, 0), MeshCoordinate(0, 1))
        sizes.append((fabric.packet_header_bytes(), tuple(found.shape)))
    assert sizes == [(48, (7, 1100)), (96, (7, 1112))]


@pytest.mark.parametrize(
    ("dim", "topology", "made"),
    [
        (3, Topology.Ring, True),
        (1, Topology.Ring, True),
        (-1, Topology.Ring, True),
        (-3, Topology.Ring, True),
        (0, Topology.Ring, False),
        (-4, Topology.Ring, False),
        (3, Topology.Linear, False),
    ],
)
def test_a_ring_has_staging_buffers_but_for_dimension_0(device, dim, topology, made):
    tensor, _ = sharded(device, (1, 1, 32, 32), 3)
    if made:
        first, second = intermediate_buffers(tensor, dim, topology=topology)
        assert first.spec == second.spec == tensor.spec and first is not second
        assert not np.any(first.shards.data) and not np.any(second.shards.data)
    else:
        with pytest.raises(
            RuntimeError, match=f"needs a ring and a dimension other than 0, got {topology} and {dim}$"
        ):
            intermediate_buffers(tensor, dim, topology=topology)


def test_results_go_into_a_preallocated_tensor(device):
    tensor, shards = sharded(device, (4, 8), 1)
    output = from_torch(
        np.zeros((4, 64), np.float32),
        device=device,
        layout=Layout.TILE,
        mesh_mapper=ReplicateTensorToMesh(device),
    )
    assert all_gather(tensor, 1, output_tensor=output).storage is output.storage
    same(shards_of(output), reference.expected("all_gather", MESH, shards, None, 1))
    words = "Output tensor shape must be Shape([32, 8]), got Shape([4, 64])"
    with pytest.raises(RuntimeError) as error:
        all_gather(tensor, 0, output_tensor=output)
    assert message(error) == words
    for dtype, layout, words in (
        (DataType.FLOAT32, Layout.ROW_MAJOR, "layout Layout::ROW_MAJOR should be same as input tensor layout Layout::TILE"),
        (DataType.BFLOAT16, Layout.ROW_MAJOR, "dtype DataType::BFLOAT16 should be same as input tensor dtype DataType::FLOAT32"),
    ):  # fmt: skip
        other = from_torch(np.zeros((4, 64), np.float32), dtype, layout=layout, device=device)
        with pytest.raises(RuntimeError) as error:
            all_gather(tensor, 1, output_tensor=other)
        assert message(error) == f"Output tensor {words}"


def texts(tensor):
    topology = tensor.tensor_topology()
    return str(topology.placements()), str(topology.distribution_shape())


def test_placement_of_results(device):
    line, _ = sharded(device, (1, 1, 32, 32), 3)
    assert texts(all_gather(line, 3)) == ("[PlacementReplicate()]", "MeshShape([8])")
    assert texts(all_gather(line, 3, cluster_axis=1)) == (
        "[PlacementShard(3), PlacementReplicate()]",
        "MeshShape([2, 4])",
    )
    assert texts(all_gather(line, 3, cluster_axis=0)) == ("[PlacementShard(3)]", "MeshShape([8])")
    grid = from_torch(
        np.zeros((2, 1, 32, 128), np.float32),
        device=device,
        mesh_mapper=ShardTensor2dMesh(device, MESH, (0, 3)),
    )
    assert texts(all_gather(grid, 3, cluster_axis=1))[0] == "[PlacementShard(0), PlacementReplicate()]"
    assert texts(all_reduce(grid, cluster_axis=0))[0] == "[PlacementReplicate(), PlacementShard(3)]"
    assert texts(all_reduce(grid))[0] == "[PlacementReplicate(), PlacementReplicate()]"
    assert texts(reduce_scatter(grid, 2, cluster_axis=1))[0] == "[PlacementShard(0), PlacementShard(2)]"
    assert texts(reduce_scatter(line, 3)) == ("[PlacementShard(3)]", "MeshShape([8])")


def test_refusals_in_the_references_words(device):
    tensor, _ = sharded(device, (1, 1, 32, 34), 3)
    host = from_torch(np.zeros((4, 4), np.float32))
    cases = [
        (lambda: all_gather(tensor, 4), "Invalid gather dim 4 for 4D input tensor"),
        (lambda: all_gather(tensor, -5), "Invalid gather dim -5 for 4D input tensor"),
        (lambda: all_gather(tensor, 3, cluster_axis=2), "ShapeBase[] index out of range. 2 not in [-4, 2)"),
        (lambda: reduce_scatter(tensor, 0), "Dimension 0 must be divisible by ring_size"),
        (
            lambda: reduce_scatter(tensor, 3, cluster_axis=1),
            "Number of tiles at dimension 3 must be divisible by ring_size",
        ),
        (
            lambda: mesh_partition(tensor, 3, 1),
            "input shape Shape([1, 1, 32, 34]) must be divisible by cluster axis size 4",
        ),
        (lambda: all_gather(host, 0), "Input tensor must be on device, got storage type: StorageType::HOST"),
        (lambda: all_reduce(host), "Input tensor must be on device, got storage type: StorageType::HOST"),
    ]
    for call, text in cases:
        with pytest.raises(RuntimeError) as error:
            call()
        assert message(error) == text
    with pytest.raises(
        RuntimeError, match="help: dim is one of 0, 1, 2, 3, or counts from the end: -1 to -4"
    ):
        all_gather(tensor, 4)
    wide, _ = sharded(device, (1, 1, 32, 36), 3)
    assert list(reduce_scatter(wide, 3, cluster_axis=1).shape) == [1, 1, 32, 9]
    flat = from_torch(np.zeros(8, np.float32), device=device)
    with pytest.raises(RuntimeError, match="reduce_scatter currently supports rank 2 tensors at minimum"):
        reduce_scatter(flat, 0)
    with pytest.raises(RuntimeError, match="Mesh device must contain receiver coordinate device"):
        point_to_point(tensor, MeshCoordinate(0, 0), MeshCoordinate(2, 0))
    with pytest.raises(RuntimeError, match="sender"):
        broadcast(tensor, MeshCoordinate(5, 0))


@pytest.mark.parametrize(
    ("piece", "dim", "text"),
    [
        ([32, 64], 1, "Shard width 64 must match physical width 256 for height sharded"),
        ([32, 64], 0, "Number of shards along height 8 must not exceed number of cores 2"),
        ([256, 64], 0, None),
    ],
)
def test_gathers_keep_pieces_that_hold_the_result(device, piece, dim, text):
    cores = CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))})
    memory = MemoryConfig(
        TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(cores, piece, ShardOrientation.ROW_MAJOR)
    )
    tensor = from_torch(
        np.zeros((64, 64), np.float32), layout=Layout.TILE, device=device, memory_config=memory
    )
    if text is None:
        assert all_gather(tensor, dim, cluster_axis=1).memory_config().shard_spec.shape == piece
        return
    with pytest.raises(RuntimeError) as error:
        all_gather(tensor, dim, cluster_axis=1)
    assert text in str(error.value)
    assert list(all_gather(tensor, dim, cluster_axis=1, memory_config=DRAM_MEMORY_CONFIG).shape) == [
        256 if i == dim else 64 for i in range(2)
    ]


def test_a_group_of_one_device():
    line = open_mesh_device(MeshShape(1, 2))
    tensor = from_torch(np.ones((2, 4), np.float32), device=line, mesh_mapper=ShardTensorToMesh(line, dim=1))
    with pytest.raises(RuntimeError) as error:
        all_gather(tensor, 1, cluster_axis=0)
    assert message(error) == "all_gather collective will only work for num_devices > 1, got 1"
    assert "(cluster_axis=1 runs along 2 devices of this MeshShape([1, 2]))" in str(error.value)
    with pytest.raises(RuntimeError, match=r"\(cluster_axis=1 runs along 2 devices of this"):
        gather_as("all_gather", tensor, 1, -2)
    column = open_mesh_device(MeshShape(2, 1))
    with pytest.raises(RuntimeError, match=r"\(cluster_axis=0 runs along 2 devices of this"):
        gather_as("all_gather", from_torch(np.ones((2, 4), np.float32), device=column), 1, -1)
    column.close()
    alone = open_mesh_device(MeshShape(1, 1))
    for axis in (None, 0, 1):
        with pytest.raises(RuntimeError, match="num_devices > 1, got 1") as error:
            all_gather(from_torch(np.ones((2, 4), np.float32), device=alone), 1, cluster_axis=axis)
        assert "runs along" not in str(error.value)
    alone.close()
    same(shards_of(all_reduce(tensor, cluster_axis=0)), shards_of(tensor))
    assert list(all_gather(tensor, 1, cluster_axis=1, mesh_device=line).shape) == [2, 4]
    line.close()


def test_wrong_keywords_and_kinds_list_the_signature(device):
    tensor, _ = sharded(device, (4, 4), 0)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        all_reduce(tensor, math_op=0)
    with pytest.raises(TypeError, match="did you mean 'cluster_axis'"):
        all_gather(tensor, 0, cluster_axes=1)
    for call in (
        lambda: all_gather(np.zeros(4), 0),
        lambda: all_gather(tensor, "3"),
        lambda: all_reduce(tensor, cluster_axis=1.0),
        lambda: broadcast(tensor, (0, 1)),
    ):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call()
    assert list(all_gather(tensor, np.int64(0), cluster_axis=np.int64(1)).shape) == [16, 4]


def test_ranks_must_agree_on_the_sub_device(device):
    tensor, _ = sharded(device, (1, 1, 32, 32), 0)
    core = CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))})
    pair = [create_global_semaphore(device, core, 0) for _ in range(2)]
    calls = (
        lambda **more: all_gather(tensor, 3, **more),
        lambda **more: all_reduce(tensor, **more),
        lambda **more: reduce_scatter(tensor, 2, **more),
        lambda **more: broadcast(tensor, MeshCoordinate(0, 0), cluster_axis=1, **more),
        lambda **more: all_broadcast(tensor, **more),
        lambda **more: all_gather_async(tensor, 3, pair, **more),
    )
    for call in calls:
        device.known.clear()
        call()
        call(subdevice_id=SubDeviceId(0))
        plain, apart = (
            found[1].signature.detail for found in device.known.values() if isinstance(found, tuple)
        )
        assert "subdevice_id SubDeviceId(0)" in apart and "subdevice_id" not in plain


def test_one_call_written_in_several_ways_is_one_signature(device):
    tensor, _ = sharded(device, (1, 1, 32, 32), 0)
    device.known.clear()
    for axis in (1, np.int64(1)):
        all_reduce(tensor, cluster_axis=axis)
        all_reduce(tensor, cluster_axis=axis, memory_config=tensor.memory_config())
    found = {code_of(plan[1].signature) for plan in device.known.values() if isinstance(plan, tuple)}
    assert len(found) == 1


def test_a_closed_mesh_is_refused(device):
    tensor, _ = sharded(device, (4, 4), 0)
    device.close()
    with pytest.raises(RuntimeError, match="closed"):
        all_gather(tensor, 0)


def test_devices_without_a_shard_are_named(device):
    tensor = from_torch(
        np.ones((5, 4), np.float32), device=device, mesh_mapper=ShardTensorToMesh(device, dim=0)
    )
    with pytest.raises(RuntimeError, match=r"positions \[5, 6, 7\] hold no shard"):
        all_reduce(tensor)


@pytest.fixture
def fabric_setting(monkeypatch):
    # The meshes of this file are open: a program would have chosen before.
    monkeypatch.setattr(MeshDevice, "any_open", classmethod(lambda _: False))
    yield fabric.set_fabric_config
    fabric.set_fabric_config(FabricConfig.DISABLED)
    fabric.set_strict(None)


def test_a_one_dimensional_fabric_needs_an_axis(device, fabric_setting):
    tensor, _ = sharded(device, (4, 4), 0)
    fabric_setting(FabricConfig.FABRIC_1D)
    assert fabric.get_fabric_config() is FabricConfig.FABRIC_1D
    with pytest.raises(RuntimeError) as error:
        all_gather(tensor, 0)
    assert message(error) == "1D fabric on a 2D mesh_device requires cluster_axis to be set"
    # One ring over the mesh, as in 0.81.1.
    assert reduce_scatter(sharded(device, (64, 4), 0)[0], 0).shape == (8, 4)
    assert all_reduce(tensor).shape == tensor.shape
    assert len(all_broadcast(tensor)) == 8
    assert reduce_scatter_minimal_async(sharded(device, (64, 4), 0)[0], None, 0).shape == (8, 4)
    assert all_reduce_async(tensor, None, device).shape == tensor.shape
    with pytest.raises(RuntimeError, match="invalid for 1D fabric"):
        point_to_point(tensor, MeshCoordinate(0, 0), MeshCoordinate(1, 1))
    all_gather(tensor, 0, cluster_axis=1)
    point_to_point(tensor, MeshCoordinate(0, 0), MeshCoordinate(1, 0))
    fabric_setting(FabricConfig.FABRIC_2D)
    all_gather(tensor, 0)
    point_to_point(tensor, MeshCoordinate(0, 0), MeshCoordinate(1, 1))


def test_strict_mode_insists_on_a_fabric(device, fabric_setting, monkeypatch):
    tensor, _ = sharded(device, (4, 4), 0)
    monkeypatch.setenv(contract.STRICT, "1")
    fabric.set_strict(None)
    with pytest.raises(RuntimeError) as error:
        all_gather(tensor, 0, cluster_axis=1)
    assert message(error) == "Trying to get un-initialized fabric context"
    with pytest.raises(RuntimeError, match="un-initialized fabric context"):
        fabric.check_route(MeshCoordinate(0, 0), MeshCoordinate(0, 1))
    fabric.set_strict(False)
    all_gather(tensor, 0, cluster_axis=1)
    with pytest.raises(TypeError, match="FABRIC_2D"):
        fabric_setting("1D")


def test_one_event_per_collective(device):
    tensor, _ = sharded(device, (1, 1, 32, 32), 3, DataType.BFLOAT16)
    seen = []
    stop = events.subscribe(seen.append)
    try:
        all_reduce(tensor, cluster_axis=1)
        broadcast(tensor, MeshCoordinate(1, 2), cluster_axis=1)
        point_to_point(tensor, MeshCoordinate(0, 0), MeshCoordinate(1, 0))
    finally:
        stop()
    event, spread, single = [e for e in seen if e.kind == "collective"]
    assert (spread.groups, single.groups) == (((6, 4, 5, 7),), ((0, 4),))
    assert (event.name, event.axis, event.bytes) == ("all_reduce", 1, 2048)
    assert event.groups == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert event.devices == tuple(range(8)) and event.start <= event.end
    assert event.site.startswith(__file__)


def test_a_partition_of_the_whole_mesh_needs_no_axis_on_a_one_dimensional_fabric(device, fabric_setting):
    tensor = from_torch(np.arange(256, dtype=np.float32)[None, None, None], device=device)
    fabric_setting(FabricConfig.FABRIC_1D)
    assert mesh_partition(tensor, 3).shape[-1] == 256 // device.get_num_devices()


def test_rows_after_the_last_of_a_resharded_tensor_are_zeros(row):
    whole = np.arange(1, 9, dtype=np.float32).reshape(8, 1, 1, 1)
    tensor = from_torch(whole, device=row, mesh_mapper=ShardTensorToMesh(row, 0))
    semaphores = [
        create_global_semaphore(row, CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))}), 0)
    ] * 2
    found = slice_reshard_async(tensor, 0, 2, 8, 1, *semaphores)
    assert [shard.flatten().tolist() for shard in shards_of(found)] == [[3, 4, 5, 6], [7, 8, 0, 0]]
    with pytest.raises(RuntimeError, match="rows 8 to 16 must begin inside of the 8 rows"):
        slice_reshard_async(tensor, 0, 8, 8, 1, *semaphores)


def test_equal_placements_are_found_by_one_object(device, monkeypatch):
    """A tensor that is gathered again and again tells its placement once: to compare two takes longer than all else of a plan."""
    first, second = (sharded(device, (1, 1, 32, 32), dim=3)[0] for _ in range(2))
    assert first.tensor_topology() is not second.tensor_topology()
    all_gather(first, 3)
    all_gather(second, 3)
    assert first.tensor_topology() is second.tensor_topology()
