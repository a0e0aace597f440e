"""What single forms of collectives refuse: measured on the reference library 0.81.1 with a fabric on a mock cluster."""

import numpy as np
import pytest

from tt_run.runtime.ccl.all_to_all import all_to_all_async_generic
from tt_run.runtime.ccl.asynchronous import all_gather_async, all_reduce_async, reduce_scatter_minimal_async
from tt_run.runtime.ccl.gather_forms import all_gather_async_reversed, ring_attention_all_gather_async
from tt_run.runtime.ccl.halos import neighbor_pad_async, slice_reshard_async
from tt_run.runtime.ccl.part_gathers import high_bw_all_gather
from tt_run.runtime.ccl.scatter_forms import reduce_scatter_minimal_direct, strided_reduce_scatter_async
from tt_run.runtime.ccl.semaphores import create_global_semaphore
from tt_run.runtime.ccl.single_shards import mesh_partition
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.errors import sentence_of
from tt_run.runtime.mesh import MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)

TILE, ROWS = Layout.TILE, Layout.ROW_MAJOR
CORES = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(7, 0))])
HIGH = MemoryConfig(
    TensorMemoryLayout.HEIGHT_SHARDED,
    BufferType.L1,
    ShardSpec(CORES, [32, 256], ShardOrientation.ROW_MAJOR),
)
ANY_RANK = MemoryConfig(BufferType.L1, NdShardSpec([1, 1, 32, 64], CORES))
NAMELESS = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1)
SAY_WHERE = "If input memory config is sharded, then output memory config must be provided."


@pytest.fixture(scope="module")
def mesh():
    device = open_mesh_device(MeshShape(2, 4))
    yield device
    device.close()


def some(x, count):
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))])
    return [create_global_semaphore(x.device(), cores, 0) for _ in range(count)]


def pad(x, dim, axis=1):
    return neighbor_pad_async(x, [dim], [1], [1], "zeros", [axis], [], [])


def reshard(x, dim):
    return slice_reshard_async(x, dim, 0, 4, 1, [], [])


def exchange(x, join, split):
    return all_to_all_async_generic(x, join, split, cluster_axis=1)


def gather(x, dim, **words):
    return all_gather_async(x, None, dim, some(x, 2), cluster_axis=1, **words)


def by_number(x, dim, **words):
    return all_gather_async(x, dim, some(x, 2), **words)


def by_axis(x, dim, **words):
    return all_gather_async(x, dim, 1, x.device(), None, some(x, 2), **words)


def backward(x, dim, **words):
    return all_gather_async_reversed(x, None, dim, some(x, 2), cluster_axis=1, **words)


def scatter(x, dim, **words):
    return reduce_scatter_minimal_async(x, None, dim, some(x, 3), cluster_axis=1, **words)


def blocks(x, dim):
    return strided_reduce_scatter_async(x, None, dim, [], mm_block_ht=1, mm_block_wt=1, cluster_axis=1)


def reduce(x):
    return all_reduce_async(x, cluster_axis=1)


def at_once(x, dim):
    return reduce_scatter_minimal_direct(x, dim, cluster_axis=1)


def room(x, dim):
    shape = list(x.shape)
    shape[dim] *= 4
    return from_torch(np.zeros(shape, np.float32), x.dtype, layout=x.layout, device=x.device())


def banks(x, dim):
    return high_bw_all_gather(x, dim, room(x, dim), cluster_axis=1)


def around(x, dim, **words):
    words = {"cluster_axis": 1, "mesh_device": x.device(), "topology": None, **words}
    return ring_attention_all_gather_async(
        [x], [room(x, dim)], dim, multi_device_global_semaphore=some(x, 2), **words
    )


def part(x, dim, memory):
    return mesh_partition(x, dim, 1, memory_config=memory)


def test_rows_on_cores_are_not_cut_anew(mesh):
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))])
    cut = MemoryConfig(
        TensorMemoryLayout.HEIGHT_SHARDED,
        BufferType.L1,
        ShardSpec(cores, [128, 8], ShardOrientation.ROW_MAJOR),
    )
    rows = from_torch(np.zeros((4, 4, 8, 8), np.float32), DataType.BFLOAT16, device=mesh, memory_config=cut)
    with pytest.raises(RuntimeError, match="Slice reshard does not support sharded input tensors"):
        reshard(rows, 0)


@pytest.mark.parametrize(
    ("call", "args", "shape", "layout", "refused"),
    [
        (pad, (-2,), (1, 4, 8, 8), ROWS, "dim[0] must be non-negative, got -2"),
        (pad, (3,), (1, 4, 8, 8), TILE, "Error, neighbor pad only supports padding non-last dim, provided dim=3 for rank-4 tensor"),
        (pad, (1,), (1, 4, 8, 8), TILE, "Unsupported input tensor layout Layout::TILE."),
        (pad, (2,), (1, 4, 8, 8), ROWS, None),
        (reshard, (2,), (4, 4, 8, 8), ROWS, "Error, neighbor pad currently only supports sharding dim 0, provided 2"),
        (reshard, (-1,), (4, 4, 8, 8), ROWS, "Error, neighbor pad currently only supports sharding dim 0, provided 4294967295"),
        (reshard, (0,), (4, 4, 8, 8), TILE, "Unsupported input tensor layout Layout::TILE."),
        (reshard, (0,), (4, 8), ROWS, "ShapeBase[] index out of range. 2 not in [-4, 2)"),
        (reshard, (0,), (4, 4, 8, 8), ROWS, None),
        (reshard, (0,), (4, 8, 8), ROWS, None),
        (exchange, (-1, 1), (1, 4, 64, 128), TILE, "in_dim out of range"),
        (exchange, (3, -3), (1, 4, 64, 128), TILE, "out_dim out of range"),
        (exchange, (2, 1), (1, 3, 64, 128), TILE, "AllToAllAsync: input tensor dimension 1 must be divisible by num_devices 4"),
        (exchange, (2, 1), (1, 4, 64, 128), ROWS, "Unsupported input layout Layout::ROW_MAJOR."),
        (exchange, (0, 2), (1, 4, 80, 128), TILE, "2 dimension support only 0 or 16 padding, so must be divisible by 16. Output tensor shape Shape([4, 4, 20, 128]) , but has 20 padding"),
        (exchange, (0, 3), (1, 4, 64, 64), TILE, "3 dimension doesn't support padding, so must be divisible by 32. Output tensor shape Shape([4, 4, 64, 16]) , but has 16 padding"),
        (exchange, (3, 1), (1, 4, 64, 48), TILE, "3 dimension doesn't support padding, so must be divisible by 32. Input tensor shape Shape([1, 4, 64, 48]) , but has 16 padding"),
        (exchange, (2, 1), (1, 4, 80, 128), TILE, None),
        (gather, (0,), (64,), TILE, "AllGatherAsync requires tensor of rank 2 or greater"),
        (gather, (0,), (64, 64), TILE, None),
        (at_once, (-2,), (64, 128), TILE, "scatter dim 0 (padded size 64, 2 pages) must split into 4 whole-page slices"),
        (at_once, (-3,), (4, 64, 128), TILE, None),
        (blocks, (-4,), (1, 1, 128, 128), TILE, "strided_reduce_scatter_async only supports dim=3 (W), but got dim=0"),
        *((form, (dim,), (1, 1, 64, 128), TILE, f"Invalid {word} dim {dim} for {told} tensor") for form, word, told in (
            (scatter, "scatter", "rank 4"), (at_once, "scatter", "rank 4"), (gather, "gather", "4D input"),
        ) for dim in (4, -5)),
        (blocks, (2,), (1, 1, 128, 128), TILE, "strided_reduce_scatter_async only supports dim=3 (W), but got dim=2"),
        (blocks, (4,), (1, 1, 128, 128), TILE, "Invalid scatter dim 4 for rank 4 tensor"),
        (blocks, (3,), (1, 2, 128, 128), TILE, "strided_reduce_scatter_async requires a 4D tensor with C=1, but got shape Shape([1, 2, 128, 128])"),
        (blocks, (3,), (1, 1, 128, 64), TILE, "Number of tiles at dimension 3 must be divisible by ring_size"),
        (blocks, (-1,), (8, 1, 64, 128), TILE, None),
        (at_once, (3,), (1, 1, 64, 128), ROWS, "reduce_scatter_minimal_direct requires TILE layout"),
        (at_once, (2,), (1, 1, 64, 128), TILE, "scatter dim 2 (padded size 64, 2 pages) must split into 4 whole-page slices"),
        (at_once, (0,), (4, 1, 60, 100), TILE, None),
        (around, (2,), (1, 1, 64, 128), ROWS, "Input tensor 0 must be tiled"),
        (around, (0,), (64, 128), TILE, "ShapeBase[] index out of range. 3 not in [-4, 2)"),
        (around, (2,), (1, 1, 64, 128), TILE, None),
        (banks, (2,), (1, 1, 64, 128), ROWS, None),
        (part, (3, NAMELESS), (1, 1, 64, 128), TILE, "bad optional access"),
        (part, (3, NAMELESS), (1, 1, 64, 128), ROWS, "MemoryConfig must have Shard Spec specified for sharded memory layout"),
        (part, (3, L1_MEMORY_CONFIG), (1, 1, 64, 128), ROWS, None),
    ],
)  # fmt: skip
def test_what_a_form_takes(mesh, call, args, shape, layout, refused):
    x = from_torch(np.ones(shape, np.float32), DataType.BFLOAT16, layout=layout, device=mesh)
    if refused is None:
        call(x, *args)
        return
    with pytest.raises(RuntimeError) as error:
        call(x, *args)
    assert sentence_of(error.value) == refused


@pytest.mark.parametrize(
    ("call", "args", "shape", "layout", "place", "refused"),
    [
        (gather, (3,), (1, 1, 64, 256), TILE, ANY_RANK, "Unsupported input tensor memory layout TensorMemoryLayout::ND_SHARDED."),
        (backward, (3,), (1, 1, 64, 256), TILE, ANY_RANK, "Unsupported input tensor memory layout TensorMemoryLayout::ND_SHARDED."),
        (gather, (2,), (1, 1, 64, 256), ROWS, HIGH, SAY_WHERE),
        (gather, (2,), (1, 1, 250, 256), TILE, HIGH, SAY_WHERE),
        (by_number, (3,), (1, 1, 64, 256), TILE, HIGH, "Shard width 256 must match physical width 2048 for height sharded"),
        *((form, (3,), (1, 1, 64, 256), TILE, HIGH, "Shard width 256 must match physical width 1024 for height sharded") for form in (gather, by_axis)),
        (backward, (3,), (1, 1, 64, 256), TILE, HIGH, "Shard width 256 must match physical width 1024 for height sharded"),
        (scatter, (2,), (1, 1, 64, 256), TILE, HIGH, SAY_WHERE),
        (scatter, (-4,), (4, 1, 64, 256), ROWS, HIGH, SAY_WHERE),
        (scatter, (3,), (1, 1, 64, 256), TILE, HIGH, "Shard width 256 must match physical width 64 for height sharded"),
        (reduce, (), (1, 1, 64, 256), ROWS, ANY_RANK, SAY_WHERE),
        (banks, (2,), (1, 1, 64, 256), TILE, L1_MEMORY_CONFIG, "high_bw_all_gather requires DRAM input"),
        (around, (2,), (1, 1, 64, 256), TILE, ANY_RANK, "Unsupported memory layout TensorMemoryLayout::ND_SHARDED."),
        (around, (2,), (1, 1, 64, 256), TILE, L1_MEMORY_CONFIG, "Output tensor 0 memory config should match output_mem_config"),
        # A sum with semaphores says itself where its steps lie.
        (reduce, (), (1, 1, 64, 256), TILE, HIGH, None),
    ],
)  # fmt: skip
def test_where_a_form_leaves_its_result(mesh, call, args, shape, layout, place, refused):
    values = np.ones(shape, np.float32)
    x = from_torch(values, DataType.BFLOAT16, layout=layout, device=mesh, memory_config=place)
    if refused is None:
        call(x, *args)
        return
    with pytest.raises(RuntimeError) as error:
        call(x, *args)
    assert sentence_of(error.value).startswith(refused)
    if place is HIGH:
        assert call(x, *args, memory_config=DRAM_MEMORY_CONFIG).memory_config() == DRAM_MEMORY_CONFIG


@pytest.mark.parametrize("call", [gather, backward])
def test_a_gather_of_several_steps_lies_in_dram(mesh, call):
    """Rows, and tiles with padding along the dimension; whole tiles stay where they are."""
    for shape, layout, dim, place in (
        ((1, 1, 64, 256), ROWS, 3, DRAM_MEMORY_CONFIG),
        ((1, 1, 250, 256), TILE, 2, DRAM_MEMORY_CONFIG),
        ((1, 1, 250, 256), TILE, 3, L1_MEMORY_CONFIG),
    ):
        values = np.ones(shape, np.float32)
        x = from_torch(values, DataType.BFLOAT16, layout=layout, device=mesh, memory_config=L1_MEMORY_CONFIG)
        assert call(x, dim).memory_config() == place
        assert call(x, dim, memory_config=L1_MEMORY_CONFIG).memory_config() == L1_MEMORY_CONFIG
