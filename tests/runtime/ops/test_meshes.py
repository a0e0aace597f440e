"""Operations on distributed tensors: placements, mixed distributions, missing shards, round trips, ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tt_run.runtime.ops as ops
from tests.examples import examples
from tests.runtime.mpi import mpirun, run_ranks
from tests.runtime.ops.tensors import BF16, F32, TILE, held, put, rounded
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.ops.data_movement.written_parts import slice_write
from tt_run.runtime.ops.products.minimal import unchecked
from tt_run.runtime.ops.products.minimal_checks import MinimalCall
from tt_run.runtime.tensor.borders.arrays import from_torch, to_numpy
from tt_run.runtime.tensor.distribution.composers import ConcatMesh2dToTensor, ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.distribution.mappers import (
    ShardTensor2dMesh,
    ShardTensorToMesh,
    create_mesh_mapper,
)
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard


def place(mesh: MeshDevice, array: np.ndarray, mapper: Any, dtype: Any = F32) -> Any:
    return from_torch(array, dtype=dtype, layout=TILE, device=mesh, mesh_mapper=mapper)


def placements(tensor: Any) -> tuple[str, str]:
    topology = tensor.tensor_topology()
    return str(topology.placements()), str(topology.distribution_shape())


def test_vectors_times_one_matrix_in_a_batch_stay_with_their_device(mesh: MeshDevice):
    rng = np.random.default_rng(3)
    vectors = rng.uniform(-1, 1, (8 * 32,)).astype(np.float32)
    matrices = rng.uniform(-1, 1, (8, 32, 16)).astype(np.float32)
    found = ops.matmul(
        place(mesh, vectors, ShardTensorToMesh(mesh, 0)), place(mesh, matrices, ShardTensorToMesh(mesh, 0))
    )
    assert tuple(found.shape) == (1, 16)
    whole = to_numpy(found, mesh_composer=ConcatMeshToTensor(mesh, 0))
    np.testing.assert_allclose(
        whole, np.einsum("dk,dkn->dn", vectors.reshape(8, 32), matrices), rtol=1e-5, atol=1e-5
    )


def test_operands_of_other_ranks_stay_with_their_device(mesh: MeshDevice):
    rng = np.random.default_rng(4)
    rows, matrices, biases = (
        rng.uniform(-1, 1, (8, *s)).astype(np.float32) for s in ((4, 32), (32, 16), (1, 16))
    )
    x, w = (place(mesh, each, ShardTensorToMesh(mesh, 0)) for each in (rows, matrices[:1].repeat(8, 0)))
    w, bias = (
        ops.reshape(w, (32, 16)),
        place(mesh, biases[:, None], ShardTensorToMesh(mesh, 0)),
    )  # of four dimensions
    plain = np.einsum("dmk,kn->dmn", rows, matrices[0])

    def check(found: Any, shape: tuple[int, ...], wanted: np.ndarray) -> None:
        assert tuple(found.shape) == shape
        whole = to_numpy(found, mesh_composer=ConcatMeshToTensor(mesh, 0))
        np.testing.assert_allclose(whole.reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-5)

    check(ops.linear(x, w, bias=bias), (1, 1, 4, 16), plain + biases)
    check(unchecked(MinimalCall(x, w, bias), None)[0], (1, 4, 16), plain + biases)
    line = ops.reshape(bias, (1, 16))
    check(ops.addmm(line, x, w, beta=2.0), (1, 4, 16), plain + 2 * biases)
    check(
        ops.outer(ops.reshape(line, (16,)), bias),
        (1, 1, 1, 16, 16),
        biases[:, 0, :, None] * biases[:, 0, None],
    )


def test_shard_wins_over_replicate(mesh: MeshDevice):
    x = np.ones((8, 1, 32, 128), np.float32)
    both = place(mesh, x, ShardTensor2dMesh(mesh, (2, 4), (0, 3)))
    rows = place(mesh, np.ones((8, 1, 32, 32), np.float32), ShardTensor2dMesh(mesh, (2, 4), (0, None)))
    columns = place(mesh, np.ones((4, 1, 32, 128), np.float32), ShardTensor2dMesh(mesh, (2, 4), (None, 3)))
    line = put(mesh, np.ones((4, 1, 32, 256), np.float32), shard=3)
    everywhere = put(mesh, np.ones((4, 1, 32, 32)))
    assert placements(ops.add(rows, columns)) == (
        "[PlacementShard(0), PlacementShard(3)]",
        "MeshShape([2, 4])",
    )
    assert placements(ops.add(columns, rows)) == (
        "[PlacementShard(0), PlacementShard(3)]",
        "MeshShape([2, 4])",
    )
    assert placements(ops.add(everywhere, both)) == placements(both)
    assert placements(ops.add(line, everywhere)) == ("[PlacementShard(3)]", "MeshShape([8])")
    assert placements(ops.add(everywhere, line)) == ("[PlacementShard(3)]", "MeshShape([8])")
    assert placements(ops.add(line, both)) == placements(both)
    assert placements(ops.gelu(both)) == placements(both)
    assert placements(ops.sum(both, -1)) == placements(both)


R, S0, S3 = PlacementReplicate(), PlacementShard(0), PlacementShard(3)
LABELS: dict[str, MeshMapperConfig | int | None] = {
    "R": None,
    "S0": 0,
    "R R": MeshMapperConfig([R, R]),
    "S0 R": MeshMapperConfig([S0, R]),
    "R S0": MeshMapperConfig([R, S0]),
    "S0 S3": MeshMapperConfig([S0, S3]),
    "S3 S0": MeshMapperConfig([S3, S0]),
    "R S3 of 1x2": MeshMapperConfig([R, S3], MeshShape(1, 2)),
    "R of 2": MeshMapperConfig([R], MeshShape([2])),
    "R R of 2x1": MeshMapperConfig([R, R], MeshShape(2, 1)),
}


def labelled(mesh: MeshDevice, label: str) -> Any:
    config = LABELS[label]
    shape = [1, 1, 32, 32]
    if isinstance(config, int):
        shape[config] *= 8
        return place(mesh, np.zeros(shape, np.float32), ShardTensorToMesh(mesh, config))
    mapper = create_mesh_mapper(mesh, config or MeshMapperConfig([R], MeshShape([8])))
    if config is not None:
        for kind, count in zip(config.placements, config.mesh_shape_override or mesh.shape, strict=True):
            if isinstance(kind, PlacementShard):
                shape[kind.dim] *= count
    return place(mesh, np.zeros(shape, np.float32), mapper)


@pytest.mark.parametrize(
    ("one", "other", "told", "over"),
    [
        ("R", "R R", "R", [8]),
        ("R R", "R", "RR", [2, 4]),
        ("R of 2", "R R", "R", [2]),
        ("R of 2", "R", "R", [8]),
        ("R R of 2x1", "R R", "RR", [2, 4]),
        ("R R of 2x1", "R S3 of 1x2", "RS3", [2, 2]),
        ("R R", "R S3 of 1x2", "RS3", [2, 4]),
        ("R R", "S0", "S0", [8]),
        ("S0", "S0 S3", "S0S3", [2, 4]),
        ("S0 R", "R S0", "S0R", [2, 4]),
        ("R S0", "S0 S3", "RS0", [2, 4]),
        ("S0 R", "S3 S0", "S0R", [2, 4]),
        ("S0 R", "R S3 of 1x2", "S0S3", [2, 4]),
    ],
)
@pytest.mark.parametrize("into", [False, True])
def test_two_distributions_make_one(
    mesh: MeshDevice, one: str, other: str, told: str, over: list[int], into: bool
):
    """As the reference's mock mesh told of 256 pairs, with the second as an operand and as the tensor to write into."""
    a, b = labelled(mesh, one), labelled(mesh, other)
    topology = (ops.relu(a, output_tensor=b) if into else ops.add(a, b)).tensor_topology()
    words = "".join(f"S{p.dim}" if isinstance(p, PlacementShard) else "R" for p in topology.placements())
    assert (words, list(topology.distribution_shape())) == (told, over)


@pytest.mark.parametrize("by_axes", [False, True])
def test_a_part_written_keeps_the_label_that_it_fits(mesh: MeshDevice, by_axes: bool):
    """The input differs along the axes along which the target does: a target on a line stays on a line."""
    array = np.arange(8 * 32 * 32, dtype=np.float32).reshape(8, 1, 32, 32)
    mapper = ShardTensor2dMesh(mesh, (2, 4), (0, 1)) if by_axes else ShardTensorToMesh(mesh, 0)
    part = place(mesh, array.reshape(2, 4, 32, 32) if by_axes else array, mapper)
    target = put(mesh, np.zeros((8, 1, 64, 32), np.float32), shard=0)
    label = target.tensor_topology()
    written = slice_write(part, target, [0, 0, 0, 0], [1, 1, 32, 32], [1] * 4)
    assert written.tensor_topology() == target.tensor_topology() == label
    for device in range(8):
        assert np.array_equal(held(written, device)[0, 0, :32], array[device, 0])


@pytest.mark.parametrize("into", ["copy", "assign", "typecast"])
def test_a_source_on_one_device_leaves_the_others_alone(mesh: MeshDevice, into: str):
    first = create_mesh_mapper(mesh, MeshMapperConfig([PlacementReplicate()], MeshShape([1])))
    source = place(mesh, np.ones((1, 1, 32, 32), np.float32), first)
    target = put(mesh, np.zeros((1, 1, 32, 32), np.float32))
    label = target.tensor_topology()
    calls = {
        "copy": lambda: ops.copy(source, target),
        "assign": lambda: ops.assign(source, target),
        "typecast": lambda: ops.typecast(source, F32, output_tensor=target),
    }
    written = calls[into]()
    assert [held(target, device).max() for device in range(8)] == [1, 0, 0, 0, 0, 0, 0, 0]
    assert target.tensor_topology() == label
    assert written.tensor_topology() == source.tensor_topology()
    assert written.buffer_address() == target.buffer_address()


def test_each_device_computes_with_its_own_shards(mesh: MeshDevice):
    a, b = np.arange(8.0).reshape(2, 4), np.arange(8.0) * 10
    grid = place(mesh, a.astype(np.float32), ShardTensor2dMesh(mesh, (2, 4), (0, 1)))
    line = put(mesh, b.reshape(1, 8), shard=1)
    total = ops.add(grid, line)
    assert [held(total, d).item() for d in range(8)] == (a.ravel() + b).tolist()


def test_devices_without_a_shard_stay_without(mesh: MeshDevice):
    t = put(mesh, np.arange(10.0).reshape(10, 1), shard=0)
    assert len(t.tensor_topology().mesh_coords()) == 5
    y = ops.add(t, put(mesh, np.ones((2, 1))))
    assert [y.shards.of(d) is None for d in range(8)] == [False] * 5 + [True] * 3
    assert len(y.tensor_topology().mesh_coords()) == 8
    assert placements(ops.relu(t)) == ("[PlacementShard(0)]", "MeshShape([5])")


def test_replicas_are_computed_once(mesh: MeshDevice):
    t = put(mesh, np.ones((32, 32)))
    for result in (ops.gelu(t), ops.add(t, t), ops.matmul(t, t), ops.sum(t, 0), ops.concat([t, t])):
        assert len(result.shards.data) == 1
        assert result.shards.index == (0,) * 8
    row = place(mesh, np.ones((2, 1, 4, 8), np.float32), ShardTensor2dMesh(mesh, (2, 4), (0, None)))
    assert len(ops.add(row, row).shards.data) == 2


def test_a_submesh_computes_alone(mesh: MeshDevice):
    part = mesh.create_submesh(MeshShape(1, 2))
    t = put(part, np.arange(4.0).reshape(2, 2), shard=0)
    assert to_numpy(ops.multiply(t, 3), ConcatMeshToTensor(part, dim=0)).tolist() == [[0, 3], [6, 9]]


@pytest.fixture(scope="module")
def meshes() -> Any:
    opened = [open_mesh_device(MeshShape(*s)) for s in ((2, 4), (1, 8), (4, 2), (1, 1), (2, 2))]
    yield opened
    for device in opened:
        device.close()


ELEMENTWISE = {
    "gelu": lambda t: ops.gelu(t),
    "add": lambda t: ops.add(t, t),
    "scaled": lambda t: ops.multiply(t, 1.5),
    "clamp": lambda t: ops.clamp(t, -0.5, 0.5),
    "where": lambda t: ops.where(ops.gtz(t), t, 0.25),
}


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_mapper_op_composer_round_trips(meshes: list[MeshDevice], data: st.DataObject):
    """Cutting, computing elementwise and joining again is computing on the whole."""
    mesh = data.draw(st.sampled_from(meshes))
    rows, columns = mesh.shape
    rank = data.draw(st.integers(2, 4))
    dims = data.draw(st.permutations(range(rank)))[:2]
    shape = [data.draw(st.integers(1, 5)) for _ in range(rank)]
    shape[dims[0]] *= rows
    shape[dims[1]] *= columns
    dtype = data.draw(st.sampled_from([F32, BF16]))
    seed = data.draw(st.integers(0, 2**16))
    array = rounded(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), dtype)
    config = MeshMapperConfig([PlacementShard(dims[0]), PlacementShard(dims[1])])
    name = data.draw(st.sampled_from(sorted(ELEMENTWISE)))
    cut = ELEMENTWISE[name](place(mesh, array, create_mesh_mapper(mesh, config), dtype))
    joined = to_numpy(cut, ConcatMesh2dToTensor(mesh, (rows, columns), tuple(dims)))
    whole = held(ELEMENTWISE[name](put(mesh, array, dtype)))
    assert np.array_equal(np.asarray(joined, np.float32), whole)


@settings(
    max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_column_and_row_parallel_products(meshes: list[MeshDevice], data: st.DataObject):
    """Weights cut on their width give the columns of the product; cut on both sides of the sum they give addends."""
    mesh = data.draw(st.sampled_from(meshes))
    n = mesh.get_num_devices()
    m, k, width = (data.draw(st.integers(1, 40)) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    x, w = (
        rng.standard_normal((m, k * n)).astype(np.float32),
        rng.standard_normal((k * n, width * n)).astype(np.float32),
    )
    columns = ops.matmul(put(mesh, x), put(mesh, w, shard=1))
    np.testing.assert_allclose(
        to_numpy(columns, ConcatMeshToTensor(mesh, dim=1)), x @ w, rtol=1e-3, atol=1e-3
    )
    addends = ops.matmul(put(mesh, x, shard=1), put(mesh, w, shard=0))
    np.testing.assert_allclose(sum(held(addends, d) for d in range(n)), x @ w, rtol=1e-3, atol=1e-3)


def test_placement_of_a_config(mesh: MeshDevice):
    config = MeshMapperConfig([PlacementReplicate(), PlacementShard(1)])
    t = place(mesh, np.ones((4, 8), np.float32), create_mesh_mapper(mesh, config))
    assert placements(ops.exp(t)) == ("[PlacementReplicate(), PlacementShard(1)]", "MeshShape([2, 4])")


PROGRAM = """
import hashlib
import numpy as np
import ttnn

mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
rng = np.random.default_rng(0)
common = dict(dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
x = ttnn.from_torch(rng.standard_normal((1, 1, 37, 200), np.float32), mesh_mapper=ttnn.ReplicateTensorToMesh(mesh), **common)
w = ttnn.from_torch(rng.standard_normal((200, 8 * 7), np.float32), mesh_mapper=ttnn.ShardTensorToMesh(mesh, dim=1), **common)
y = ttnn.linear(x, w, activation="gelu")
y = ttnn.softmax(ttnn.layer_norm(y) * 1.5 + ttnn.sin(y), dim=-1)
y = ttnn.concat([y, ttnn.sum(y, dim=-1, keepdim=True), ttnn.std(y, dim=-1, keepdim=True)], dim=-1)
whole = ttnn.to_torch(y, mesh_composer=ttnn.ConcatMeshToTensor(mesh, dim=-1))
whole = np.asarray(whole.float() if hasattr(whole, "float") else whole, np.float32)
print(whole.shape, hashlib.sha256(whole.tobytes()).hexdigest())
ttnn.close_mesh_device(mesh)
"""


@pytest.mark.skipif(mpirun() is None, reason="no mpirun")
@pytest.mark.parametrize("several", [[(2, "1, 2")], pytest.param([(4, "2, 2")], marks=pytest.mark.wide)])
def test_the_same_bits_on_any_number_of_ranks(tmp_path: Any, several: list[tuple[int, str]]):
    from mgd.resources import configs_root

    found = set()
    for ranks, hosts in ((1, None), *several):
        env = {}
        if hosts:
            path = tmp_path / f"{ranks}.textproto"
            text = (configs_root() / "mgd" / "t3k_mesh_graph_descriptor.textproto").read_text()
            path.write_text(
                text.replace("host_topology { dims: [1, 1] }", f"host_topology {{ dims: [{hosts}] }}")
            )
            assert hosts in path.read_text()
            env["TT_MESH_GRAPH_DESC_PATH"] = str(path)
        result = run_ranks(ranks, PROGRAM, env=env).check()
        found |= {line for rank in result.ranks for line in rank.stdout.splitlines()}
    assert len(found) == 1, found


def test_every_operand_counts_for_the_placement(mesh: MeshDevice):
    x, sharded = put(mesh, np.ones((1, 1, 4, 8))), put(mesh, np.ones((1, 8 * 8)), shard=1)
    w = put(mesh, np.ones((8, 8)))
    for result in (
        ops.linear(x, w, bias=sharded),
        ops.layer_norm(x, weight=sharded),
        ops.rms_norm(x, bias=sharded),
    ):
        assert placements(result) == ("[PlacementShard(1)]", "MeshShape([8])")
        assert len(result.shards.data) == 8


@pytest.mark.listening  # bounds that are values of a tensor have no shape without values
def test_a_slice_of_its_own_on_each_device() -> None:
    mesh = open_mesh_device(MeshShape(1, 2))
    values = np.arange(256, dtype=np.float32).reshape(1, 1, 4, 64)

    def bounds(*numbers: int) -> Any:
        array = np.array(numbers, np.uint32)
        return from_torch(
            array, dtype=DataType.UINT32, device=mesh, mesh_mapper=ShardTensorToMesh(mesh, dim=0)
        )

    x = from_torch(values, dtype=F32, device=mesh)
    starts, ends = bounds(0, 0, 0, 0, 0, 0, 0, 32), bounds(1, 1, 4, 32, 1, 1, 4, 64)
    found = ops.slice(x, starts, ends, slice_dim=3, num_devices=2)
    assert np.array_equal(to_numpy(found, ConcatMeshToTensor(mesh, dim=3)), values)
    for wrong, message in (
        (bounds(1, 1, 4, 16, 1, 1, 4, 64), "must have one shape"),
        (bounds(1, 1, 4, 16, 1, 1, 4, 48), "must have 32 elements for 2 devices"),
        (bounds(1, 1, 4, 32, 1, 1, 4, 65), "does not fit a tensor"),
    ):
        with pytest.raises(RuntimeError, match=message):
            ops.slice(x, starts, wrong, slice_dim=3, num_devices=2)
    for piece in ({}, {"slice_dim": 3}, {"num_devices": 2}):
        with pytest.raises(RuntimeError, match="slice_dim and num_devices must be provided"):
            ops.slice(from_torch(values, dtype=F32, layout=TILE, device=mesh), starts, ends, **piece)
    signed = from_torch(np.array([0, 0, 0, 0], np.int32), dtype=DataType.INT32, device=mesh)
    with pytest.raises(RuntimeError, match="got DataType::INT32, expected: DataType::UINT32"):
        ops.slice(x, signed, ends, slice_dim=3, num_devices=2)
    mesh.close()
