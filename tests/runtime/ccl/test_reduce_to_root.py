"""reduce_to_root: attention over keys that four devices share is the attention over all keys, on any split over ranks."""

import hashlib

import numpy as np
import pytest

from tests.runtime.ccl import reference
from tests.runtime.mpi import ROOT, mpirun, run_ranks
from tt_run.runtime.ccl.reduce_to_root import reduce_to_root
from tt_run.runtime.cores import CoreGrid
from tt_run.runtime.enums import DataType, Layout, ShardStrategy
from tt_run.runtime.mesh import MeshCoordinate, MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.creation.from_shape import full_like
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    create_sharded_memory_config,
)
from tt_run.runtime.values import shapes

CORES, ROWS, WIDTH, KEYS = 2, 8, 16, 24
TILE = 4  # columns that one core has of s and m


def partial_results():
    """Per device l, s and m as the cores lay them out, and the attention over all keys."""
    rng = np.random.default_rng(7)
    shape = (4, CORES, ROWS, KEYS)
    scores = rng.standard_normal(shape).astype(np.float32) * 3
    values = rng.standard_normal((4, CORES, KEYS, WIDTH)).astype(np.float32)
    top = reference.bfloat16(scores.max(-1, keepdims=True))
    weights = np.exp(scores - top)
    numerators = weights @ values
    sums = weights.sum(-1, keepdims=True)
    everything = np.exp(scores - scores.max((0, -1), keepdims=True))
    wanted = (everything @ values).sum(0) / everything.sum((0, -1))[..., None]
    return [side_by_side(part) for part in (numerators, repeated(sums), repeated(top))], side_by_side(
        wanted[None]
    )[0]


def repeated(column):
    """The value is in column 0; what stands beside it does not reach l."""
    return np.concatenate([column, column.repeat(TILE - 1, -1)], -1)


def side_by_side(parts):
    """(devices, cores, rows, columns) as (devices, rows, cores x columns)."""
    return np.moveaxis(parts, 1, 2).reshape(*parts.shape[:1], ROWS, -1)


def on_line(device, parts, dtype=DataType.BFLOAT16, lead=()):
    return [
        from_torch(
            part.reshape(*lead, -1, part.shape[-1]),
            dtype,
            layout=Layout.ROW_MAJOR,
            device=device,
            memory_config=create_sharded_memory_config(
                part.shape[-2:], CoreGrid(x=CORES, y=1), ShardStrategy.WIDTH
            ),
            mesh_mapper=ShardTensorToMesh(device, dim=len(lead)),
        )
        for part in parts
    ]


@pytest.fixture(scope="module")
def line():
    device = open_mesh_device(MeshShape(4, 1))
    yield device
    device.close()


@pytest.mark.parametrize(("root", "lead"), [(1, ()), (2, ()), (1, (1, 1))])
def test_the_root_has_the_attention_over_all_keys(line, root, lead):
    parts, wanted = partial_results()
    inputs = on_line(line, parts, lead=lead)
    output, total, top = reduce_to_root(*inputs, MeshCoordinate(root, 0))
    assert np.allclose(output.shards.of(root), wanted.reshape(*lead, *wanted.shape), rtol=0.05, atol=0.02)
    assert np.array_equal(top.shards.of(root).reshape(parts[2][0].shape), reference.bfloat16(parts[2]).max(0))
    assert (output.spec, total.spec, top.spec) == tuple(tensor.spec for tensor in inputs)
    assert not any(np.any(output.shards.of(other)) for other in range(4) if other != root)


def test_the_scale_is_in_the_exponent(line):
    parts, _ = partial_results()
    inputs = on_line(line, parts)
    _, total, _ = reduce_to_root(*inputs, MeshCoordinate(1, 0), scale_fp32=0.0)
    assert np.allclose(total.shards.of(1), reference.bfloat16(parts[1]).sum(0), rtol=0.02)


def test_results_go_into_output_tensors(line):
    parts, wanted = partial_results()
    inputs = on_line(line, parts)
    outputs = [full_like(tensor, 5.0) for tensor in inputs]
    found = reduce_to_root(
        *inputs,
        MeshCoordinate(1, 0),
        output_tensor_l=outputs[0],
        output_tensor_s=outputs[1],
        output_tensor_m=outputs[2],
    )
    assert all(a.storage is b.storage for a, b in zip(found, outputs, strict=True))
    assert np.allclose(outputs[0].shards.of(1), wanted, rtol=0.05, atol=0.02)
    assert np.all(outputs[0].shards.of(3) == 5.0)


def test_sums_of_zero_are_divided_by_in_silence(line):
    """As a device does it; in shapes all sums are zero."""
    zeros = [np.zeros_like(part) for part in partial_results()[0]]
    with shapes.only():
        bare = reduce_to_root(*on_line(line, zeros), MeshCoordinate(1, 0))
    found = reduce_to_root(*on_line(line, zeros), MeshCoordinate(1, 0))
    assert np.isnan(found[0].shards.of(1)).all()
    assert [tensor.spec for tensor in bare] == [tensor.spec for tensor in found]


def message(error):
    return str(error.value).split("info:\n")[1]


def test_refusals(line):
    parts, _ = partial_results()
    inputs = on_line(line, parts)
    with pytest.raises(RuntimeError) as error:
        reduce_to_root(*inputs, MeshCoordinate(1, 0), input_mux_cores=[1])
    assert message(error) == "Input mux cores size must be 4, got 1"
    with pytest.raises(RuntimeError, match="must be bfloat16 and sharded in L1"):
        reduce_to_root(*on_line(line, parts, DataType.FLOAT32), MeshCoordinate(1, 0))
    with pytest.raises(RuntimeError, match="s and m one shape"):
        reduce_to_root(inputs[0], inputs[1], inputs[0], MeshCoordinate(1, 0))
    wide = [
        from_torch(
            np.zeros((4 * ROWS, 10), np.float32),
            DataType.BFLOAT16,
            layout=Layout.ROW_MAJOR,
            device=line,
            memory_config=create_sharded_memory_config((ROWS, 12), CoreGrid(x=3, y=1), ShardStrategy.WIDTH),
            mesh_mapper=ShardTensorToMesh(line, dim=0),
        )
    ] * 3
    with pytest.raises(RuntimeError) as error:
        reduce_to_root(*wide, MeshCoordinate(1, 0))
    assert message(error) == "reduce_to_root: the 10 columns of input l do not divide over 3 cores"
    with pytest.raises(RuntimeError, match="Mesh device must contain root coordinate device"):
        reduce_to_root(*inputs, MeshCoordinate(1, 1))
    square = open_mesh_device(MeshShape(2, 2))
    with pytest.raises(RuntimeError, match="a line of 4 devices"):
        reduce_to_root(*on_line(square, parts), MeshCoordinate(1, 0))
    square.close()


@pytest.mark.parametrize("lead", [(), (1, 1)])
def test_l_s_and_m_have_the_same_rows_and_cores(line, lead):
    parts, _ = partial_results()
    inputs, longer = (
        on_line(line, parts, lead=lead),
        on_line(line, [part.repeat(2, 1) for part in parts], lead=lead),
    )
    refused = pytest.raises(
        RuntimeError, match="l, s and m must have the same rows and cores, s and m one shape"
    )
    for given in ((longer[0], *inputs[1:]), (inputs[0], *longer[1:])):
        with refused:
            reduce_to_root(*given, MeshCoordinate(1, 0))
    one = create_sharded_memory_config(parts[0].shape[-2:], CoreGrid(x=1, y=1), ShardStrategy.WIDTH)
    with refused:
        reduce_to_root(to_memory_config(inputs[0], one), *inputs[1:], MeshCoordinate(1, 0))


@pytest.mark.parametrize("place", [L1_MEMORY_CONFIG, DRAM_MEMORY_CONFIG])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_l_s_and_m_lie_on_cores(line, place, number):
    inputs = on_line(line, partial_results()[0])
    inputs[number] = to_memory_config(inputs[number], place)
    with pytest.raises(RuntimeError, match=f"input {'lsm'[number]} must be bfloat16 and sharded in L1, got"):
        reduce_to_root(*inputs, MeshCoordinate(1, 0))


def test_the_root_has_two_neighbours(line):
    inputs = on_line(line, partial_results()[0])
    for root in (0, 3):
        with pytest.raises(RuntimeError, match="must have both forward and backward neighbors"):
            reduce_to_root(*inputs, MeshCoordinate(root, 0))
    other = line.create_submesh(MeshShape(4, 1))
    for number in (1, 2):
        given = list(inputs)
        given[number] = on_line(other, partial_results()[0])[number]
        with pytest.raises(RuntimeError, match="need to be on the same device"):
            reduce_to_root(*given, MeshCoordinate(1, 0))


PROGRAM = """
from tests.runtime.ccl.test_reduce_to_root import digests
digests()
"""


def digests():
    """Print the results of the root of the first row of a 2x4 mesh, on the rank that hosts it."""
    mesh = open_mesh_device(MeshShape(2, 4))
    line = mesh.create_submesh(MeshShape(1, 4))
    found = reduce_to_root(*on_line(line, partial_results()[0]), MeshCoordinate(0, 1))
    if 1 in line.local_positions:
        rows = [tensor.shards.of(line.local_positions.index(1)) for tensor in found]
        print(*(hashlib.sha256(row.tobytes()).hexdigest()[:12] for row in rows))
    mesh.close()


@pytest.mark.wide
@pytest.mark.skipif(mpirun() is None, reason="no mpirun beside this Python or in PATH")
@pytest.mark.parametrize(("ranks", "hosts"), [(2, "two_hosts"), (4, "four_hosts")])
def test_ranks_give_the_bits_of_one(ranks, hosts, capsys):
    digests()
    descriptor = str(ROOT / "configs" / "mgd" / f"t3k_2x4_{hosts}.textproto")
    done = run_ranks(ranks, PROGRAM, env={"TT_MESH_GRAPH_DESC_PATH": descriptor}, timeout=60).check()
    assert "".join(rank.stdout for rank in done.ranks) == capsys.readouterr().out
