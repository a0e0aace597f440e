"""The placements of results say what the devices hold: checked against the bytes, for every mapper, mesh and axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runtime.mpi import ROOT, run_ranks
from tt_run.runtime import settings
from tt_run.runtime.ccl.asynchronous import all_reduce_async
from tt_run.runtime.ccl.collectives import all_broadcast, all_gather, all_reduce, reduce_scatter
from tt_run.runtime.ccl.result_topology import partitioned, replicated, scattered, summed
from tt_run.runtime.ccl.single_shards import broadcast, mesh_partition
from tt_run.runtime.enums import ReduceType
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.ops.elementwise.binary import add
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.distribution.mappers import (
    ReplicateTensorToMesh,
    ShardTensor2dMesh,
    ShardTensorToMesh,
    create_mesh_mapper,
)
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard, TensorTopology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

MESHES = ((1, 2), (1, 8), (8, 1), (2, 4))
SHAPE = (2, 2, 16, 32)


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.CONFIG, "strict_ccl_topology", True)


@pytest.fixture(params=MESHES, ids=lambda mesh: "x".join(map(str, mesh)))
def mesh(request: pytest.FixtureRequest) -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(*request.param))
    yield device
    device.close()


def texts(tensor: Tensor) -> tuple[str, tuple[int, ...]]:
    topology = tensor.tensor_topology()
    words = ["R" if isinstance(p, PlacementReplicate) else f"S{p.dim}" for p in topology.placements()]
    return " ".join(words), tuple(topology.distribution_shape())


def composed(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The whole tensor as its placements say that the shards fit together; replicas must be the same bytes."""
    topology = tensor.tensor_topology()
    device = tensor.device()
    assert device is not None
    places = [device.local_positions.index(device.index_of(c)) for c in topology.mesh_coords()]
    shards = [np.asarray(tensor.shards.of(place)) for place in places]
    extents, placements = tuple(topology.distribution_shape()), topology.placements()
    assert len(shards) == math.prod(extents)

    def fit(parts: list[Any], axis: int) -> Any:
        if axis < len(extents) - 1:
            step = math.prod(extents[axis + 1 :])
            parts = [fit(parts[i : i + step], axis + 1) for i in range(0, len(parts), step)]
        placement = placements[axis]
        if isinstance(placement, PlacementShard):
            return np.concatenate(parts, placement.dim)
        assert all(np.array_equal(part, parts[0]) for part in parts), "devices differ along a replicated axis"
        return parts[0]

    return fit(shards, 0)


def spread(device: MeshDevice) -> Iterator[tuple[str, Tensor, np.ndarray[Any, Any]]]:
    """Tensors from every mapper, with what they are together."""
    rows, columns = device.shape
    values = np.random.default_rng(0).integers(-3, 4, SHAPE).astype(np.float32)
    mappers = {"replicate": ReplicateTensorToMesh(device)}
    mappers |= {f"shard {dim}": ShardTensorToMesh(device, dim) for dim in (2, 3)}
    for dims in itertools.product((None, 0, 2, 3), repeat=2):
        if dims[0] is None or dims[0] != dims[1]:
            mappers[f"2d {dims}"] = ShardTensor2dMesh(device, (rows, columns), dims)
    for name, mapper in mappers.items():
        try:
            yield name, from_torch(values, device=device, mesh_mapper=mapper), values
        except RuntimeError as error:
            assert "chunks" in str(error)


def calls(tensor: Tensor, device: MeshDevice) -> Iterator[tuple[str, Any]]:
    for axis in (None, 0, 1):
        members = device.get_num_devices() if axis is None else device.shape[axis]
        yield f"all_reduce {axis}", lambda a=axis: all_reduce(tensor, cluster_axis=a)
        yield f"all_broadcast {axis}", lambda a=axis: all_broadcast(tensor, cluster_axis=a)[-1]
        for dim in (2, 3):
            if members > 1:
                yield f"all_gather {dim} {axis}", lambda a=axis, d=dim: all_gather(tensor, d, cluster_axis=a)
            if tensor.shape[dim] % members == 0:
                yield (
                    f"reduce_scatter {dim} {axis}",
                    lambda a=axis, d=dim: reduce_scatter(tensor, d, cluster_axis=a),
                )


def test_placements_describe_the_bytes_or_strict_mode_refuses(mesh: MeshDevice, strict: None) -> None:
    told = refused = 0
    for name, tensor, values in spread(mesh):
        assert np.array_equal(composed(tensor), values), name
        for what, call in calls(tensor, mesh):
            try:
                result = call()
            except RuntimeError as error:
                assert "interleave" in str(error) or "can express" in str(error), (name, what, error)
                refused += 1
                continue
            whole = composed(result)
            told += 1
            if what.startswith("reduce_scatter"):
                # Whichever way it is written down, no piece may be lost or doubled.
                axis = what.split()[2]
                total = composed(all_reduce(tensor, cluster_axis=None if axis == "None" else int(axis)))
                assert whole.shape == total.shape and np.array_equal(whole, total), (name, what)
    assert told > 40 and refused < told


def test_a_gather_gives_back_what_was_cut(mesh: MeshDevice, strict: None) -> None:
    for name, tensor, values in spread(mesh):
        axis = max((0, 1), key=lambda i: mesh.shape[i])
        placements = tensor.tensor_topology().placements()
        placement = placements[axis if len(placements) > 1 else 0]
        if isinstance(placement, PlacementShard) and (len(placements) > 1 or 1 in mesh.shape):
            assert np.array_equal(composed(all_gather(tensor, placement.dim, cluster_axis=axis)), values), (
                name
            )


# What 0.81.1 says on a mesh of 2x4; "-": strict mode raises, and without it the tensor's own placements are kept.
PARTITIONS = (
    ((None, 3), 2, "S2 S3", "-", "-"),
    ((None, 3), 3, "-", "R S3", "S3"),
    ((3, 2), 2, "-", "S3 S2", "-"),
    ((3, 2), 3, "S3 S2", "-", "-"),
    ((3, None), 2, "-", "S3 S2", "-"),
    ((3, None), 3, "S3 R", "S3", "S3"),
    ((None, None), 2, "S2 R", "R S2", "S2"),
    (3, 2, "-", "-", "-"),
    (3, 3, "-", "S3", "S3"),
    (None, -1, "S3 R", "R S3", "S3"),
)


@pytest.mark.parametrize(("dims", "dim", "rows", "columns", "whole"), PARTITIONS)
@pytest.mark.parametrize("strictly", [False, True])
def test_a_partition_says_what_it_cut_or_keeps_what_was_said(
    dims: Any, dim: int, rows: str, columns: str, whole: str, strictly: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings.CONFIG, "strict_ccl_topology", strictly)
    grid = open_mesh_device(MeshShape(2, 4))
    mapper = (
        ShardTensor2dMesh(grid, (2, 4), dims) if isinstance(dims, tuple)
        else ReplicateTensorToMesh(grid) if dims is None
        else ShardTensorToMesh(grid, dims)
    )  # fmt: skip
    tensor = from_torch(np.random.rand(1, 1, 64, 64).astype(np.float32), device=grid, mesh_mapper=mapper)
    for axis, said in ((0, rows), (1, columns), (None, whole)):
        if said == "-" and strictly:
            with pytest.raises(RuntimeError, match="no TensorTopology can express"):
                mesh_partition(tensor, dim, axis)
            continue
        result = mesh_partition(tensor, dim, axis)
        assert texts(result)[0] == (texts(tensor)[0] if said == "-" else said), axis
        for place in range(8):
            before, after = np.asarray(tensor.shards.of(place)), np.asarray(result.shards.of(place))
            pieces, number = {0: (2, place // 4), 1: (4, place % 4), None: (8, place)}[axis]
            assert np.array_equal(after, np.split(before, pieces, dim)[number])


@pytest.mark.parametrize(
    ("shape", "dim", "said"),
    [
        (
            (1, 1, 2, 2),
            -8,
            "dim must be less than the rank",
        ),  # -4 from the front, where a shape of four still has a length
        ((1, 1, 2, 2), -9, r"ShapeBase\[\] index out of range. -5 not in \[-4, 4\)"),
        ((2, 2), -6, "dim must be less than the rank"),
        ((2, 2), -7, r"ShapeBase\[\] index out of range. -5 not in \[-4, 2\)"),
    ],
)
def test_a_partition_before_the_first_dimension_is_refused(
    shape: tuple[int, ...], dim: int, said: str
) -> None:
    line = open_mesh_device(MeshShape(1, 2))
    tensor = from_torch(np.zeros(shape, np.float32), device=line)
    with pytest.raises(RuntimeError, match=said):
        mesh_partition(tensor, dim)
    line.close()


def test_one_placement_for_all_devices_is_written_out_per_axis(strict: None) -> None:
    values = np.zeros((1, 1, 64, 256), np.float32)
    line, grid = (open_mesh_device(MeshShape(*shape)) for shape in ((1, 8), (2, 4)))
    on_line = from_torch(values, device=line, mesh_mapper=ShardTensorToMesh(line, 3))
    on_grid = from_torch(values, device=grid, mesh_mapper=ShardTensorToMesh(grid, 3))
    assert texts(all_gather(on_line, 3, cluster_axis=1)) == ("R", (8,))
    assert texts(all_gather(on_grid, 3, cluster_axis=1)) == ("S3 R", (2, 4))
    assert texts(all_gather(on_grid, 2, cluster_axis=0)) == ("R S3", (2, 4))
    assert texts(all_reduce(on_grid, cluster_axis=0)) == ("R S3", (2, 4))
    assert texts(all_reduce(on_grid)) == ("R R", (2, 4))
    assert texts(reduce_scatter(on_grid, 3, cluster_axis=1)) == ("S3", (8,))
    assert texts(reduce_scatter(on_grid, 2, cluster_axis=1)) == ("S3 S2", (2, 4))
    assert texts(mesh_partition(all_gather(on_grid, 3, cluster_axis=1), 3, 1)) == ("S3", (8,))
    with pytest.raises(RuntimeError, match="would interleave the shards"):
        all_gather(on_grid, 3, cluster_axis=0)
    for device in (line, grid):
        device.close()


def test_without_strict_mode_what_cannot_be_said_keeps_its_placements() -> None:
    grid = open_mesh_device(MeshShape(2, 4))
    tensor = from_torch(
        np.zeros((1, 1, 64, 256), np.float32), device=grid, mesh_mapper=ShardTensorToMesh(grid, 3)
    )
    assert texts(all_gather(tensor, 3, cluster_axis=0)) == ("S3", (8,))
    # Cut further along the outer axis the pieces lie column by column: recorded from the reference library 0.81.1.
    assert texts(reduce_scatter(tensor, 3, cluster_axis=0)) == ("S3", (8,))
    for dims, wanted in (
        ((2, 3), "S2 S3"),
        ((0, 3), "S0 S3"),
        ((None, 3), "S3 S3"),
    ):  # the last one: nothing calls them replicated
        mapper = ShardTensor2dMesh(grid, (2, 4), dims)
        spread = from_torch(np.zeros((2, 1, 64, 256), np.float32), device=grid, mesh_mapper=mapper)
        assert texts(reduce_scatter(spread, 3, cluster_axis=0)) == (wanted, (2, 4)), dims
    # The setting counts from the next call on, also for a call that was made before.
    settings.CONFIG.strict_ccl_topology = True
    try:
        with pytest.raises(RuntimeError, match="would interleave"):
            all_gather(tensor, 3, cluster_axis=0)
    finally:
        settings.CONFIG.strict_ccl_topology = False
    grid.close()


@pytest.mark.parametrize("spread_by", [replicated, scattered, partitioned])
def test_one_placement_for_devices_in_several_rows_follows_no_axis(
    spread_by: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = open_mesh_device(MeshShape(2, 4))
    corner = [MeshCoordinate(0, 0), MeshCoordinate(0, 1), MeshCoordinate(1, 0)]
    said = TensorTopology(MeshShape([3]), [PlacementShard(2)], corner)
    tensor = SimpleNamespace(tensor_topology=lambda: said, shape=SimpleNamespace(rank=4))
    dim = 2 if spread_by is replicated else 3
    kept = spread_by(tensor, grid, 1, dim)
    (placement,) = kept.placements()
    assert isinstance(placement, PlacementShard) and placement.dim == (3 if spread_by is scattered else 2)
    assert (tuple(kept.distribution_shape()), kept.mesh_coords()) == ((3,), corner)
    monkeypatch.setattr(settings.CONFIG, "strict_ccl_topology", True)
    with pytest.raises(RuntimeError, match="do not follow the axes of mesh"):
        spread_by(tensor, grid, 1, dim)
    grid.close()


R, ANY, ROWS = PlacementReplicate(), PlacementShard(0), PlacementShard(2)
COLUMNS = PlacementShard(3)


@pytest.mark.parametrize(
    ("spread_by", "mesh", "extents", "before", "axis", "dim", "after"),
    [
        # Gathered along an axis: it holds the same everywhere, whatever an axis of one device says.
        (replicated, (2, 4), (2, 4), (ROWS, COLUMNS), 1, 3, "S2 R"),
        (replicated, (2, 4), (2, 4), (COLUMNS, COLUMNS), 1, 3, "S3 R"),
        (replicated, (2, 4), (2, 4), (COLUMNS, COLUMNS), 0, 3, "would interleave"),
        (replicated, (2, 4), (2, 1), (COLUMNS, COLUMNS), 0, 3, "R S3"),
        (replicated, (2, 4), (2, 4), (COLUMNS, ROWS), 0, 3, "R S2"),
        (replicated, (2, 4), (2, 4), (COLUMNS, COLUMNS), 0, None, "R S3"),
        (replicated, (2, 4), (2, 4), (COLUMNS, COLUMNS), 0, 2, "R S3"),
        (replicated, (2, 2, 2), (2, 2, 2), (ROWS, ROWS, COLUMNS), 1, 3, "S2 R S3"),
        (replicated, (2, 2, 2), (2, 2, 2), (COLUMNS, ROWS, ROWS), 0, 3, "no TensorTopology"),
        (replicated, (1, 2, 2), (1, 2, 2), (ROWS, ROWS, COLUMNS), 2, 3, "R S2 R"),
        (replicated, (2, 2, 2), (2, 2, 2), (ROWS, R, ROWS), 1, 3, "no TensorTopology"),
        (replicated, (2, 1, 2), (2, 1, 2), (ROWS, COLUMNS, ROWS), 1, 3, "S2"),
        # Cut along an axis: as one placement where all axes cut one dimension in the order of the devices.
        (scattered, (2, 4), (2, 4), (R, R), 1, 3, "R S3"),
        (scattered, (2, 4), (2, 4), (COLUMNS, R), 1, 3, "S3"),
        (scattered, (2, 4), (2, 1), (COLUMNS, R), 1, 3, "S3 R"),
        (scattered, (2, 4), (2, 4), (R, COLUMNS), 0, 3, "no TensorTopology"),
        (scattered, (2, 4), (2, 4), (ROWS, R), 1, 3, "S2 S3"),
        (partitioned, (2, 4), (2, 4), (R, COLUMNS), 0, 3, "no TensorTopology"),
        (partitioned, (2, 4), (2, 4), (R, COLUMNS), 0, 2, "S2 S3"),
        (partitioned, (2, 4), (2, 4), (R, COLUMNS), 1, 2, "no TensorTopology"),
        (partitioned, (2, 4), (2, 1), (R, COLUMNS), None, 2, "S2"),
        (partitioned, (2, 4), (2, 4), (R, COLUMNS), None, 2, "no TensorTopology"),
        # One placement of a whole mesh is that of each of its axes, but for those of one device.
        (replicated, (1, 8), (8,), (COLUMNS,), 0, 3, "R S3"),
        (replicated, (2, 4), (8,), (COLUMNS,), 1, 3, "S3 R"),
        (summed, (2, 4), (8,), (COLUMNS,), None, None, "R R"),
        (summed, (1, 8), (8,), (COLUMNS,), None, None, "R"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_result(
    spread_by: Any,
    mesh: Any,
    extents: Any,
    before: Any,
    axis: int | None,
    dim: int | None,
    after: str,
    strict: None,
) -> None:
    shape = MeshShape(list(mesh))
    coords = [MeshCoordinate(*at) for at in np.ndindex(*mesh)]
    held = (
        coords if len(extents) == 1 else [c for c in coords if all(c[i] < n for i, n in enumerate(extents))]
    )
    said = TensorTopology(MeshShape(list(extents)), list(before), held)
    tensor = SimpleNamespace(tensor_topology=lambda: said, shape=SimpleNamespace(rank=4))
    device = SimpleNamespace(shape=shape, coords=coords)
    if " " in after and after[0].islower():
        with pytest.raises(RuntimeError, match=after):
            spread_by(tensor, device, axis, dim)
        return
    found = spread_by(tensor, device, axis, dim)
    assert (
        " ".join("R" if isinstance(p, PlacementReplicate) else f"S{p.dim}" for p in found.placements())
        == after
    )


PART = MeshMapperConfig([PlacementReplicate(), PlacementShard(-1)], MeshShape(1, 4))


def test_collectives_on_fewer_devices_than_the_mesh_has() -> None:
    line = open_mesh_device(MeshShape(1, 8))
    values = np.arange(8 * 32, dtype=np.float32).reshape(1, 1, 8, 32)
    tensor = from_torch(values, device=line, mesh_mapper=create_mesh_mapper(line, PART))
    parts = np.split(values, 4, 3)
    gathered = all_gather(tensor, 3, cluster_axis=1)
    assert gathered.shards.index == (0, 0, 0, 0, -1, -1, -1, -1)
    assert np.array_equal(gathered.shards.data[0], values)
    assert np.array_equal(composed(gathered), values)
    assert mesh_partition(tensor, 2, 1).shards.index == (0, 1, 2, 3, -1, -1, -1, -1)
    total = sum(parts)
    assert np.array_equal(composed(all_reduce(tensor)), total)
    assert np.array_equal(composed(reduce_scatter(tensor, 2, cluster_axis=1)), total)
    assert [
        np.array_equal(composed(t), part) for t, part in zip(all_broadcast(tensor), parts, strict=True)
    ] == [True] * 4
    assert np.array_equal(composed(broadcast(tensor, MeshCoordinate(0, 2))), parts[2])
    with pytest.raises(RuntimeError, match="holds no shard"):
        broadcast(tensor, MeshCoordinate(0, 5))
    found = all_reduce_async(tensor, 4, [], [], [], ReduceType.Sum)
    assert np.array_equal(composed(found), total)
    line.close()


def test_what_is_remembered_of_all_devices_is_not_taken_for_fewer() -> None:
    """Tensors of one spec and one topology, one of which no longer lies on the last device."""
    line = open_mesh_device(MeshShape(1, 4))
    values = np.arange(16, dtype=np.float32).reshape(1, 1, 1, 16)
    whole = from_torch(values, device=line, mesh_mapper=ShardTensorToMesh(line, 3))
    shards = Shards.unchecked(whole.shards.data, (0, 1, 2, -1))
    fewer = whole.successor(shards, whole.spec, whole.tensor_topology())
    for tensor, index, width in ((whole, (0, 0, 0, 0), 16), (fewer, (0, 0, 0, -1), 12)):
        gathered = all_gather(tensor, 3)
        assert gathered.shards.index == index
        assert np.array_equal(gathered.shards.data[0], values[..., :width])
        assert broadcast(tensor, MeshCoordinate(0, 0)).shards.index == index
    line.close()


def test_collectives_on_a_corner_of_the_mesh() -> None:
    """Its devices do not stand one after another: those of the second row come after devices without shards."""
    mesh = open_mesh_device(MeshShape(2, 4))
    corner = MeshMapperConfig([PlacementShard(2), PlacementShard(3)], MeshShape(2, 2))
    values = np.arange(4 * 32, dtype=np.float32).reshape(1, 1, 4, 32)
    tensor = from_torch(values, device=mesh, mesh_mapper=create_mesh_mapper(mesh, corner))
    gathered = all_gather(tensor, 3, cluster_axis=1)
    rows = {position: gathered.shards.row(i) for position, i in enumerate(gathered.shards.index) if i >= 0}
    assert sorted(rows) == [0, 1, 4, 5]
    for position, row in rows.items():
        assert np.array_equal(row, values[:, :, 2 * (position // 4) : 2 * (position // 4) + 2])
    mesh.close()


def test_what_a_column_computed_is_gathered_along_it() -> None:
    """A sum over the shards of one column is labelled with all of the mesh; the devices without a shard take no part."""
    device = open_mesh_device(MeshShape(2, 4))
    values = np.arange(64, dtype=np.float32).reshape(1, 1, 1, 64)
    mapper = ShardTensor2dMesh(device, (2, 1), (3, None))
    column = from_torch(values, device=device, mesh_mapper=mapper)
    for tensor in (column, add(column, column)):
        found = list(all_gather(tensor, 3, cluster_axis=0).shards.each())
        factor = 1 if tensor is column else 2
        assert [row is None for row in found] == [False, True, True, True] * 2
        assert all(np.array_equal(row, factor * values) for row in found if row is not None)
    everywhere = from_torch(values, device=device)
    assert all(row is not None for row in all_gather(add(everywhere, 1.0), 3, cluster_axis=0).shards.each())
    device.close()


RANKS = """
import hashlib, numpy as np, ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
for columns in (1, 2, 3):
    placements = [ttnn.PlacementShard(2), ttnn.PlacementShard(3)]
    mapper = ttnn.create_mesh_mapper(mesh, ttnn.MeshMapperConfig(placements, ttnn.MeshShape(2, columns)))
    values = np.random.default_rng(0).standard_normal((1, 1, 12, 24)).astype(np.float32)
    given = ttnn.from_torch(values, device=mesh, mesh_mapper=mapper)
    computed = ttnn.add(given, given)
    assert computed.tensor_topology().mesh_coords() == list(ttnn.from_torch(values, device=mesh).tensor_topology().mesh_coords())
    for kind, x in (("given", given), ("computed", computed), ("gathered", ttnn.add(ttnn.all_gather(computed, 3, cluster_axis=0), 1.0))):
      for name, call in (
        ("gather 0", lambda: ttnn.all_gather(x, 3, cluster_axis=0)), ("reduce 1", lambda: ttnn.all_reduce(x, cluster_axis=1)),
        ("reduce", lambda: ttnn.all_reduce(x)), ("scatter 0", lambda: ttnn.reduce_scatter(x, 2, cluster_axis=0)),
        ("partition", lambda: ttnn.mesh_partition(x, 2, 0)), ("everything", lambda: ttnn.all_broadcast(x, cluster_axis=0)[1]),
      ):
        shards = call().shards
        for position, row in zip(mesh.local_positions, shards.index):
            digest = "-" if row < 0 else hashlib.sha256(shards.data[row].tobytes()).hexdigest()[:12]
            print("digest", kind, columns, name, position, digest)
ttnn.close_mesh_device(mesh)
"""
DESCRIPTORS = {1: "t3k_mesh_graph_descriptor", 2: "t3k_2x4_two_hosts", 4: "t3k_2x4_four_hosts"}


@pytest.mark.wide
def test_fewer_devices_have_the_same_bits_on_any_split() -> None:
    found = []
    for ranks, descriptor in DESCRIPTORS.items():
        env = {"TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs" / "mgd" / f"{descriptor}.textproto")}
        result = run_ranks(ranks, RANKS, env=env, timeout=60).check()
        found.append(
            sorted(
                line
                for rank in result.ranks
                for line in rank.stdout.splitlines()
                if line.startswith("digest")
            )
        )
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 3 * 3 * 6 * 8
