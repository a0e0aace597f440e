"""What reductions refuse, in the words that the reference's host side was heard to say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U16, U32, held, put
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.reduction.ordering import topk
from tt_run.runtime.ops.reduction.reductions import REDUCTIONS, argmax, cumsum, prod
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec, ShardSpec
from tt_run.runtime.tensor.spec.shape import Shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig

HEIGHT, BLOCK, L1 = TensorMemoryLayout.HEIGHT_SHARDED, TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1
Refused = tuple[str, Callable[[MeshDevice], Any]]


def zeros(device: MeshDevice, *shape: int, dtype: DataType = BF16, layout: Layout = TILE) -> Tensor:
    return put(device, np.zeros(shape or (32, 32)), dtype, layout)


def host(*shape: int, dtype: DataType = BF16) -> Tensor:
    return from_torch(np.zeros(shape, np.float32), dtype, layout=TILE)


def cores(*ranges: tuple[int, int, int, int]) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(CoreCoord(a, b), CoreCoord(c, d)) for a, b, c, d in ranges])


def sharded(
    grid: CoreRangeSet, *shape: int, kind: TensorMemoryLayout = HEIGHT, where: BufferType = L1
) -> MemoryConfig:
    return MemoryConfig(kind, where, ShardSpec(grid, list(shape), ShardOrientation.ROW_MAJOR))


def over(name: str, *shape: int, dtype: DataType = BF16, **options: Any) -> Callable[[MeshDevice], Any]:
    return lambda device: REDUCTIONS[name](zeros(device, *shape, dtype=dtype), **{"dim": -1, **options})


def best(k: int = 32, *shape: int, dtype: DataType = BF16, **options: Any) -> Callable[[MeshDevice], Any]:
    return lambda device: topk(zeros(device, *(shape or (1, 1, 32, 64)), dtype=dtype), k, **options)


REFUSED: dict[str, Refused] = {
    "one dimension twice": (
        "duplicate axis after sorting \\(indices 0 and 1, value 1\\)",
        over("sum", dim=[1, -1]),
    ),
    "no dimension": ("at least 0 and less than rank 2", over("sum", dim=2)),
    "a number beyond all": (
        "Dimension must be in the range \\[-2147483648, 2147483647\\]",
        over("std", dim=1 << 40),
    ),
    "a mean of integers": (
        "ttnn.mean does not support integer inputs - got DataType::INT32.",
        over("mean", dtype=I32),
    ),
    "short integers": (
        "supported for generic reduction .* - got DataType::UINT16",
        over("sum", dtype=DataType.UINT16),
    ),
    "nothing to choose from": ("Expected reduction dim 0 to have non-zero size", over("max", 0, 32, dim=0)),
    "no cores": ("Program core grid must not be empty", over("sum", sub_core_grids=CoreRangeSet())),
    "cores that are not there": (
        "Program core grid {\\[0-0 - 99-99\\]} must be contained in device grid {\\[0-0 - 7-7\\]}",
        over("sum", sub_core_grids=cores((0, 0, 99, 99))),
    ),
    "shards of L1 into DRAM without cores": (
        "on an output with buffer type BufferType::DRAM requires an explicit shard_spec "
        "\\(cannot fall back to the input tensor's BufferType::L1 shard grid\\)",
        lambda d: REDUCTIONS["sum"](
            to_memory_config(zeros(d), sharded(cores((0, 0, 0, 0)), 32, 32)),
            dim=-1,
            memory_config=MemoryConfig(HEIGHT, BufferType.DRAM),
        ),
    ),
    "shards on cores that are not there": (
        "shard core \\(8, 0\\) has no L1 bank on this device, which has 64 of them",
        over("sum", memory_config=sharded(cores((8, 0, 8, 0)), 32, 32), keepdim=True),
    ),
    "shards on a second row of banks": (
        "shard core \\(0, 1\\) is not on row 0. DRAM banks are 1D",
        over("max", memory_config=sharded(cores((0, 1, 0, 1)), 32, 32, where=BufferType.DRAM), keepdim=True),
    ),
    "shards without cores": (
        "TensorMemoryLayout::HEIGHT_SHARDED requires either nd_shard_spec or shard_spec",
        over("sum", memory_config=MemoryConfig(HEIGHT, L1)),
    ),
    "pieces without a spec": (
        "ND_SHARDED memory layout requires nd_shard_spec to be set",
        over("var", memory_config=MemoryConfig(TensorMemoryLayout.ND_SHARDED, L1)),
    ),
    "blocks over two rectangles": (
        "Block sharding requires a single CoreRange, got 2 ranges",
        over("sum", 64, 64, memory_config=sharded(cores((0, 0, 0, 0), (2, 2, 2, 2)), 32, 32, kind=BLOCK)),
    ),
    "the variance of integers": (
        "supported for Std/Var reduction - got DataType::INT32",
        over("var", dtype=I32),
    ),
    "float32 through bfloat16": (
        "requires fp32_dest_acc_en=true",
        over("var", dtype=F32, compute_kernel_config=WormholeComputeKernelConfig(fp32_dest_acc_en=False)),
    ),
    "argmax on the host": ("Input tensor must be on device", lambda d: argmax(host(32, 32), dim=-1)),
    "argmax of no dimension": (
        "expected to be in range of \\[-2, 1\\], but got 2",
        lambda d: argmax(zeros(d), dim=2),
    ),
    "argmax of all in tiles": ("dim parameter must be specified", lambda d: argmax(zeros(d))),
    "argmax of integers in tiles": (
        "Only BFLOAT16, FLOAT32 are supported for inputs with TILE layout",
        lambda d: argmax(zeros(d, dtype=I32), dim=-1),
    ),
    "argmax of integer columns": (
        "only argmax on the last dim is supported. Got dim=0 \\(normalized=0\\), expected 1",
        lambda d: argmax(zeros(d, dtype=I32, layout=ROW), dim=0),
    ),
    "argmax into tiles": (
        "Output tensor must have ROW_MAJOR layout",
        lambda d: argmax(zeros(d), dim=-1, keepdim=True, output_tensor=zeros(d, 32, 1, dtype=U32)),
    ),
    "argmax into signed places": (
        "Only UINT32 is supported for outputs, got DataType::INT32",
        lambda d: argmax(
            zeros(d), dim=-1, keepdim=True, output_tensor=zeros(d, 32, 1, dtype=I32, layout=ROW)
        ),
    ),
    "argmax of nothing": (
        "Expected reduction dim 1 to have non-zero size",
        lambda d: argmax(zeros(d, 32, 0, layout=ROW), dim=1),
    ),
    "topk of no dimension": ("expected to be in range of \\[-4, 3\\]", best(dim=4)),
    "more than there are": ("K=128, dimension size=64", best(128)),
    "topk of a few rows": (
        "FillPad should only be used for tile layout",
        lambda d: topk(zeros(d, 3, 50, layout=ROW), 5),
    ),
    "topk with places of another shape": (
        r"Indices tensor has incorrect shape! Got : Shape\(\[1, 1, 32, 64\]\), expected: Shape\(\[1, 1, 32, 128\]\)",
        lambda d: topk(zeros(d, 1, 1, 32, 128), 5, indices_tensor=zeros(d, 1, 1, 32, 64, dtype=U16)),
    ),
    "argmax into other rows": (
        r"not page-compatible with the reduction result! Got : Shape\(\[64\]\), expected: Shape\(\[64, 1\]\)",
        lambda d: argmax(
            zeros(d, 64, 128), dim=-1, keepdim=True, output_tensor=zeros(d, 64, dtype=U32, layout=ROW)
        ),
    ),
    "rows of bytes": (
        "Can only tilize bfloat16/float32",
        lambda d: REDUCTIONS["sum"](zeros(d, 32, 64, dtype=DataType.UINT8, layout=ROW), dim=-1),
    ),
    "topk of rows": (
        "The input must be in tiled format",
        lambda d: topk(zeros(d, 1, 1, 32, 64, layout=ROW), 32),
    ),
    "topk of integers": ("Input tensor must be BFLOAT16, BFLOAT8_B, or FLOAT32", best(dtype=I32)),
    "topk into shards": (
        "Sharded implementation not supported yet",
        best(memory_config=sharded(cores((0, 0, 0, 0)), 32, 32)),
    ),
    "topk into another shape": (
        "Preallocated values tensor has incorrect shape",
        lambda d: topk(zeros(d, 1, 64), 32, output_tensor=(zeros(d, 1, 64), zeros(d, 1, 32, dtype=U32))),
    ),
    "topk into the host": (
        "Preallocated output indices tensor must be on device",
        lambda d: topk(zeros(d, 1, 64), 32, output_tensor=(zeros(d, 1, 32), host(1, 32))),
    ),
    "topk of more than a core has room for": (
        "Not enough cores or cache size available to run TopK operation",
        best(4096, 1, 1, 32, 8192),
    ),
    "topk into values of another type": (
        "Preallocated output tensor dtype must match input tensor dtype. Got output: DataType::FLOAT32, input: DataType::BFLOAT16",
        lambda d: topk(
            zeros(d, 1, 64), 32, output_tensor=(zeros(d, 1, 32, dtype=F32), zeros(d, 1, 32, dtype=U32))
        ),
    ),
    "topk into integers": (
        "Preallocated output tensor must be BFLOAT16, BFLOAT8_B, or FLOAT32 got: DataType::INT32",
        lambda d: topk(
            zeros(d, 1, 64), 32, output_tensor=(zeros(d, 1, 32, dtype=I32), zeros(d, 1, 32, dtype=U32))
        ),
    ),
    "topk with places in real numbers": (
        "Preallocated indices tensor must be UINT16, UINT32, or INT32 got: DataType::BFLOAT16",
        lambda d: topk(zeros(d, 1, 64), 32, output_tensor=(zeros(d, 1, 32), zeros(d, 1, 32))),
    ),
    "topk of 32 bits with places of 16": (
        "Preallocated indices tensor must be 32-bit \\(UINT32 or INT32\\) for this input, got: DataType::UINT16",
        lambda d: topk(
            zeros(d, 1, 64, dtype=F32),
            32,
            output_tensor=(zeros(d, 1, 32, dtype=F32), zeros(d, 1, 32, dtype=U16)),
        ),
    ),
    "prod into a tensor of pieces within tiles": (
        "Prod_nc input shard height=16 must be tile-height-aligned \\(32\\)",
        lambda d: prod(
            to_memory_config(zeros(d, 2, 1, 32, 32, layout=ROW), sharded(cores((0, 0, 3, 0)), 16, 32)),
            zeros(d, 1, 1, 32, 32, layout=ROW),
            dims=[0],
        ),
    ),
    "a running sum outside of its program": (
        r"Accumulation output shard grid \{\[5-5 - 5-5\]\} must be contained in program core grid \{\[0-0 - 0-0\]\}",
        lambda d: cumsum(zeros(d), 0, memory_config=sharded(cores((5, 5, 5, 5)), 32, 32)),
    ),
    "prod of no dimension": ("expected to be in range of \\[-2, 1\\]", lambda d: prod(zeros(d), 2)),
    "prod of integers": ("unsupported data type for prod", lambda d: prod(zeros(d, dtype=I32))),
    "prod over width into a tensor": (
        "Unsupported dim 3 for prod nc op",
        lambda d: prod(zeros(d, 2, 2, 32, 32), zeros(d, 1, 2, 32, 32), dims=[0, 3]),
    ),
    "prod of rank 3 into a tensor": (
        "rank should be 4, got rank: 3",
        lambda d: prod(zeros(d, 2, 32, 32), zeros(d, 1, 32, 32), dims=[0]),
    ),
    "a running sum of no dimension": (
        "The requested accumulation axis is 4, while the input tensor has rank 2.",
        lambda d: cumsum(zeros(d), 4),
    ),
    "a running sum of rows": ("non-tile layout: ROW_MAJOR", lambda d: cumsum(zeros(d, layout=ROW), 0)),
    "a running sum on cores that are not there": (
        "Output shard grid {.*63-63.*} must be contained in device compute grid",
        lambda d: cumsum(zeros(d), 0, memory_config=sharded(cores((63, 63, 63, 63)), 32, 32)),
    ),
    "a running sum in pieces on cores that are not there": (
        "ND shard grid .+ must be contained in device compute grid",
        lambda d: cumsum(
            zeros(d), 0, memory_config=MemoryConfig(L1, NdShardSpec(Shape([32, 32]), cores((63, 63, 63, 63))))
        ),
    ),
    "a running sum into another shape": (
        "Shape mismatch: input tensor shape Shape\\(\\[32, 32\\]\\)",
        lambda d: cumsum(zeros(d), 0, out=zeros(d, 32, 64)),
    ),
}


@pytest.mark.parametrize(("message", "call"), REFUSED.values(), ids=REFUSED)
def test_what_fails_on_a_device_fails_here(one: MeshDevice, message: str, call: Callable[[MeshDevice], Any]):
    with pytest.raises(RuntimeError, match=message):
        call(one)


def test_extremes_and_moments_of_rows_come_in_tiles(one: MeshDevice):
    rows = zeros(one, 4, 32, layout=ROW)
    found = {name: REDUCTIONS[name](rows, dim=-1).layout for name in REDUCTIONS}
    assert found == dict.fromkeys(("max", "min", "var", "std"), TILE) | {"sum": ROW, "mean": ROW}


@pytest.mark.parametrize("layout", [ROW, TILE])
def test_a_reduction_of_nothing_has_the_layout_of_its_operand_and_any_type(one: MeshDevice, layout: Layout):
    found = {
        name: (REDUCTIONS[name](zeros(one, 0, 32, layout=layout), dim).layout)
        for name, dim in (("sum", None), ("mean", 0), ("max", 1), ("min", 1), ("var", None), ("std", 0))
    }
    assert set(found.values()) == {layout}
    assert prod(zeros(one, 0, 32, dtype=I32, layout=layout), 0).dtype is I32


def test_nothing_varies_along_one_element_of_any_type(one: MeshDevice):
    found = REDUCTIONS["std"](zeros(one, 1, 1, 1, 32, dtype=I32), -2, keepdim=True)
    assert (found.dtype, tuple(found.shape)) == (I32, (1, 1, 1, 32))


def test_a_running_sum_lies_on_a_core_of_its_program(one: MeshDevice):
    place = sharded(cores((0, 1, 0, 1)), 64, 64)
    assert cumsum(zeros(one, 64, 64), 0, memory_config=place).memory_config() == place
    with pytest.raises(RuntimeError, match="must be contained in program core grid"):
        cumsum(zeros(one, 64, 64), 0, memory_config=sharded(cores((0, 2, 0, 2)), 64, 64))


def test_topk_writes_places_of_any_integers_that_hold_them(one: MeshDevice):
    x = np.arange(64, dtype=np.float32).reshape(1, 64)
    for kind in (U16, U32, I32):
        out = (zeros(one, 1, 32), zeros(one, 1, 32, dtype=kind))
        _, places = topk(put(one, x, BF16), 32, output_tensor=out)
        assert places.dtype is kind
        assert held(places).tolist() == [list(range(63, 31, -1))]


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "std", "var"])
@pytest.mark.parametrize("dim", [-1, -2])
def test_shards_in_dram_are_reduced_into_shards_in_dram(one: MeshDevice, name: str, dim: int):
    rng = np.random.default_rng(5)
    values = rng.uniform(-1, 1, (1, 1, 416, 32)).astype(np.float32)
    place = sharded(cores((0, 0, 3, 0)), 128, 32, where=BufferType.DRAM)
    found = REDUCTIONS[name](
        to_memory_config(put(one, values, F32), place), dim=dim, keepdim=True, memory_config=place
    )
    memory = found.memory_config()
    assert memory.buffer_type is BufferType.DRAM and memory.is_sharded()
    plain = REDUCTIONS[name](put(one, values, F32), dim=dim, keepdim=True)
    assert np.array_equal(held(found), held(plain))


@pytest.mark.parametrize(
    ("name", "dtype", "dim", "piece"),
    [
        ("sum", BF16, 0, [128, 64]), ("sum", BF16, 1, [128, 64]), ("sum", BF16, (0, 1), [128, 64]),
        ("sum", DataType.BFLOAT8_B, (0, 1), [128, 64]), ("sum", BF16, (1, 2), [32, 64]),
        ("sum", DataType.BFLOAT8_B, (1, 2, 3), [32, 32]), ("sum", F32, (1, 2), [128, 64]), ("max", BF16, (1, 2), [128, 64]),
        ("mean", BF16, (0, 1, 2), [128, 64]), ("max", BF16, 2, [64, 64]),
    ],
)  # fmt: skip
def test_pieces_stay_as_they_are_where_batches_come_last_or_alone(
    one: MeshDevice, name: str, dtype: DataType, dim: Any, piece: list[int]
) -> None:
    x = np.random.default_rng(1).integers(-4, 4, (2, 4, 64, 64)).astype(np.float32)
    place = sharded(cores((0, 0, 3, 0)), 128, 64)
    found = REDUCTIONS[name](to_memory_config(put(one, x, dtype, TILE), place), dim, True)
    spec = found.memory_config().shard_spec
    assert spec is not None
    assert (found.memory_config().memory_layout, list(spec.shape)) == (HEIGHT, piece)
    assert np.array_equal(held(found), held(REDUCTIONS[name](put(one, x, dtype, TILE), dim, True)))


def test_columns_on_cores_that_do_not_fit_a_sum_over_batches_are_refused(one: MeshDevice) -> None:
    columns = sharded(cores((0, 0, 3, 0)), 256, 32, kind=TensorMemoryLayout.WIDTH_SHARDED)
    x = to_memory_config(zeros(one, 2, 4, 32, 128), columns)
    for dim, rows in ((0, 128), (1, 64), ((0, 1), 64), ((1, 2), 64)):
        with pytest.raises(RuntimeError, match=rf"Shard height 256 must match physical height {rows}"):
            REDUCTIONS["sum"](x, dim, True)


@pytest.mark.parametrize("dtype", [BF16, F32, I32])
@pytest.mark.parametrize(
    ("shape", "dim", "k", "left"),
    [((64,), 0, 0, [0]), ((3, 50), 0, 0, [0, 50]), ((3, 50), -1, 0, [3, 0]), ((6, 0, 32), 0, 3, [3, 0, 32]), ((6, 0, 32), 1, 0, [6, 0, 32])],
)  # fmt: skip
def test_none_are_the_largest_of_a_few(
    one: MeshDevice, dtype: DataType, shape: Any, dim: int, k: int, left: Any
):
    for found in topk(zeros(one, *shape, dtype=dtype), k, dim):
        assert (list(found.shape), found.dtype) == (left, dtype)


def test_a_number_is_its_own_largest(one: MeshDevice):
    number = put(one, np.float32(3), F32)
    for k in (0, 1):
        values, places = topk(number, k)
        assert (held(values), held(places), places.dtype) == (3, 0, U16)
    for dim in (0, 5, -2):
        assert held(cumsum(number, dim)) == 3


def test_argmax_fills_rows_of_any_rank(one: MeshDevice):
    x = put(one, np.eye(6, 32).reshape(2, 3, 32), BF16)
    for shape in ((2, 3, 1), (6, 1), (1, 6, 1)):
        room = zeros(one, *shape, dtype=U32, layout=ROW)
        argmax(x, -1, True, output_tensor=room)
        assert held(room).ravel().tolist() == list(range(6))
