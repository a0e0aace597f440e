"""Where operands and results of collectives may lie: refusals of the reference library 0.81.1, measured with a fabric on a mock cluster."""

import numpy as np
import pytest

from tt_run.runtime.ccl.collectives import all_broadcast, all_gather, all_reduce, reduce_scatter
from tt_run.runtime.ccl.single_shards import broadcast, point_to_point
from tt_run.runtime.ccl.transfer_shapes import intermediate_spec
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.errors import sentence_of
from tt_run.runtime.mesh import MeshCoordinate, MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ShardTensor2dMesh, ShardTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, NdShardSpec, ShardSpec


@pytest.fixture(scope="module")
def row():
    device = open_mesh_device(MeshShape(1, 8))
    yield device
    device.close()


def refusal(call, *args, **kwargs):
    with pytest.raises(RuntimeError) as error:
        call(*args, **kwargs)
    return sentence_of(error.value)


def test_point_to_point_takes_whole_pages_that_are_not_cut(row):
    ends = MeshCoordinate(0, 0), MeshCoordinate(0, 1)
    blocks = from_torch(np.zeros((32, 32), np.float32), DataType.BFLOAT8_B, layout=Layout.TILE, device=row)
    assert refusal(point_to_point, blocks, *ends) == "datum for bfp2, bfp4, bfp8 is invalid"
    assert refusal(intermediate_spec, blocks, *ends) == "datum for bfp2, bfp4, bfp8 is invalid"
    odd = from_torch(np.zeros((2, 17), np.float32), DataType.BFLOAT16, layout=Layout.ROW_MAJOR, device=row)
    assert refusal(point_to_point, odd, *ends) == "Tensor page size must be 16 byte aligned"
    cut = from_torch(
        np.zeros((64, 64), np.float32),
        layout=Layout.TILE,
        device=row,
        memory_config=on_cores("HEIGHT", 32, 64),
    )
    assert refusal(point_to_point, cut, *ends) == "Point to point does not yet support sharded configs"


def on_cores(word, *shape, buffer=BufferType.L1):
    """Pieces of a matrix on two cores, of any rank for more or fewer than two numbers or the word ND."""
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])
    if word == "ND":
        return MemoryConfig(buffer, NdShardSpec(list(shape), grid))
    return MemoryConfig(
        getattr(TensorMemoryLayout, f"{word}_SHARDED"),
        buffer,
        ShardSpec(grid, list(shape), ShardOrientation.ROW_MAJOR),
    )


_TILE_BY_TILE = (
    "ShardedAddrGenArgBuilder::emit_ct_args was invoked with a tensor containing an unsupported (Sharded) Tensor Memory Layout: "
    "TensorMemoryLayout::ND_SHARDED"
)
_STEPS = "If input memory config is sharded, then output memory config must be provided."


@pytest.mark.parametrize(
    ("call", "shape", "dtype", "layout", "place", "asked", "refused"),
    [
        # Cores and pieces have to be named, whatever the collective.
        *(
            (call, (1, 8, 64, 256), DataType.BFLOAT16, layout, None, "nameless", words)
            for call in ("all_gather", "reduce_scatter", "all_reduce", "all_broadcast", "broadcast")
            for layout, words in (
                (Layout.TILE, "bad optional access"),
                (Layout.ROW_MAJOR, "MemoryConfig must have Shard Spec specified for sharded memory layout"),
            )
        ),
        # Pieces of any rank.
        *(
            (call, (1, 8, 64, 256), DataType.BFLOAT16, layout, ("ND", 1, 32, 64), asked, "Unsupported memory layout TensorMemoryLayout::ND_SHARDED.")
            for call in ("all_broadcast", "broadcast")
            for layout in (Layout.TILE, Layout.ROW_MAJOR)
            for asked in (None, "dram")
        ),
        ("reduce_scatter", (1, 8, 64, 256), DataType.BFLOAT16, Layout.TILE, None, ("ND", 1, 32, 64), _TILE_BY_TILE),
        ("reduce_scatter", (1, 8, 64, 256), DataType.BFLOAT16, Layout.TILE, ("ND", 1, 32, 64), "dram", _TILE_BY_TILE),
        ("all_reduce", (1, 8, 64, 256), DataType.BFLOAT16, Layout.TILE, ("ND", 1, 32, 64), "dram", _TILE_BY_TILE),
        ("all_reduce", (1, 8, 64, 256), DataType.BFLOAT16, Layout.TILE, None, ("ND", 1, 32, 64), _TILE_BY_TILE),
        ("all_reduce", (1, 8, 64, 256), DataType.BFLOAT16, Layout.ROW_MAJOR, ("ND", 1, 32, 64), "dram", _STEPS),
        # A sum begins in L1, and its steps have to fit.
        ("all_reduce", (1, 1, 64, 128), DataType.BFLOAT16, Layout.TILE, ("DRAM", 32, 128), None, "Input tensor must be in L1"),
        ("all_reduce", (1, 1, 64, 256), DataType.BFLOAT16, Layout.TILE, None, ("HEIGHT", 32, 256), "Shard width 256 must match physical width 32 for height sharded"),
        ("all_reduce", (1, 1, 64, 128), DataType.BFLOAT16, Layout.TILE, None, ("HEIGHT", 32, 128), "Number of shards along height 16 must not exceed number of cores 2"),
        ("all_reduce", (1, 1, 64, 128), DataType.BFLOAT16, Layout.TILE, ("HEIGHT", 32, 128), None, None),
        ("all_reduce", (1, 1, 64, 128), DataType.BFLOAT16, Layout.ROW_MAJOR, None, ("ND", 1, 32, 64), None),
        ("all_reduce", (1, 1, 64, 128), DataType.UINT32, Layout.ROW_MAJOR, None, None, "moreh_sum input only supports specific data types. [BFLOAT16, INT32]"),
        ("all_reduce", (1, 1, 64, 256), DataType.UINT32, Layout.TILE, None, None, None),
        ("all_reduce", (1, 1, 64, 128), DataType.INT32, Layout.ROW_MAJOR, None, None, None),
        # A part lies as its operand, which it has to fit.
        ("reduce_scatter", (1, 1, 64, 128), DataType.BFLOAT16, Layout.TILE, ("HEIGHT", 32, 128), None, "Shard width 128 must match physical width 32 for height sharded"),
        ("reduce_scatter", (1, 1, 64, 128), DataType.BFLOAT16, Layout.TILE, ("HEIGHT", 32, 128), "dram", None),
    ],
)  # fmt: skip
def test_where_operands_and_results_may_lie(row, call, shape, dtype, layout, place, asked, refused):
    """Over a line of eight."""
    memory = {
        None: lambda: None,
        "dram": lambda: DRAM_MEMORY_CONFIG,
        "nameless": lambda: MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1),
    }.get(asked, lambda: on_cores(*asked))()
    if place is not None and place[0] == "DRAM":
        held = on_cores("HEIGHT", *place[1:], buffer=BufferType.DRAM)
    else:
        held = DRAM_MEMORY_CONFIG if place is None else on_cores(*place)
    tensor = from_torch(np.ones(shape, np.float32), dtype, layout=layout, device=row, memory_config=held)
    words = {
        "all_gather": (all_gather, (3,)),
        "reduce_scatter": (reduce_scatter, (3,)),
        "all_reduce": (all_reduce, ()),
        "all_broadcast": (all_broadcast, ()),
        "broadcast": (broadcast, (MeshCoordinate(0, 0),)),
    }
    function, more = words[call]
    if refused is None:
        function(tensor, *more, memory_config=memory)
    else:
        assert refusal(function, tensor, *more, memory_config=memory).startswith(refused)


def test_a_broadcast_without_an_axis_wants_a_line_of_shards():
    device = open_mesh_device(MeshShape(2, 4))
    values = np.zeros((64, 8), np.float32)
    mapper = ShardTensorToMesh(device, dim=0)
    line = from_torch(values, device=device, layout=Layout.TILE, mesh_mapper=mapper)
    broadcast(line, MeshCoordinate(0, 1))
    mapper = ShardTensor2dMesh(device, (2, 4), (0, 1))
    block = from_torch(values, device=device, layout=Layout.TILE, mesh_mapper=mapper)
    words = "broadcast op is only supported for a linear tensor topology shape"
    assert refusal(broadcast, block, MeshCoordinate(0, 1)) == words
    broadcast(block, MeshCoordinate(0, 1), cluster_axis=1)
    device.close()
