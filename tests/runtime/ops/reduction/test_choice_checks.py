"""What sampling, seeds, expert routing and moving averages refuse, in the words that the reference's host side was heard to say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U32, put
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.experts.routing import MOE
from tt_run.runtime.ops.normalisation.softmaxes import scale_mask_softmax_in_place
from tt_run.runtime.ops.reduction.ordering import manual_seed, sampling
from tt_run.runtime.ops.reduction.statistics import MOVING
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.blocks import SoftmaxShardedMultiCoreProgramConfig

ema, moe = MOVING["ema"], MOE["moe"]


def zeros(d: MeshDevice, *shape: int, dtype: DataType = BF16, layout: Layout = TILE) -> Tensor:
    return put(d, np.zeros(shape), dtype, layout)


def grid(x: int, y: int) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(x, y))])


def sharded(*shape: int) -> MemoryConfig:
    spec = ShardSpec(grid(0, 0), list(shape), ShardOrientation.ROW_MAJOR)
    return MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, spec)


def drawn(d: MeshDevice, shape: tuple[int, ...] = (1, 1, 32, 64), **more: Any) -> Tensor:
    """One call of `sampling`, of good arguments but for those given."""
    users = shape[-2]
    given: dict[str, Any] = {
        "input_values_tensor": zeros(d, *shape),
        "input_indices_tensor": zeros(d, *shape, dtype=I32, layout=ROW),
        "k": zeros(d, users, dtype=U32, layout=ROW),
    }
    given |= {name: zeros(d, users, layout=ROW) for name in ("p", "temp")}
    return sampling(**(given | more))


def routed(d: MeshDevice, *shape: int, k: int = 32, layout: Layout = TILE, **more: Any) -> Any:
    """One call of `moe`, whose masks fit it but for those given."""
    masks = {"expert_mask_tensor": zeros(d, 1, 1, 1, shape[-1]), "topk_mask_tensor": zeros(d, 1, 1, 1, k)}
    return moe(zeros(d, *shape, layout=layout), **(masks | more), k=k)


def seeds(d: MeshDevice, *shape: int, dtype: DataType = U32, layout: Layout = ROW) -> Tensor:
    return zeros(d, *(shape or (3,)), dtype=dtype, layout=layout)


def in_place(d: MeshDevice) -> Tensor:
    config = SoftmaxShardedMultiCoreProgramConfig(
        compute_with_storage_grid_size=(1, 1), subblock_w=1, block_h=0, block_w=2
    )
    tensor = to_memory_config(zeros(d, 1, 1, 32, 64), sharded(32, 64))
    return scale_mask_softmax_in_place(tensor, 1.0, zeros(d, 1, 1, 32, 64), program_config=config)


REFUSED: list[tuple[str, Callable[[MeshDevice], Any]]] = [
    ("Only BFLOAT16 is supported for inputs", lambda d: drawn(d, input_values_tensor=zeros(d, 1, 1, 32, 64, dtype=F32))),
    ("dtypes are supported for input indices", lambda d: drawn(d, input_indices_tensor=zeros(d, 1, 1, 32, 64, layout=ROW))),
    ("Only INTERLEAVED memory layout is supported for inputs",
     lambda d: drawn(d, input_indices_tensor=to_memory_config(zeros(d, 1, 1, 32, 64, dtype=I32, layout=ROW), sharded(32, 64)))),
    ("must have the same shape", lambda d: drawn(d, input_indices_tensor=zeros(d, 1, 1, 32, 32, dtype=I32, layout=ROW))),
    ("must be rank-4; got rank 3", lambda d: drawn(d, (1, 32, 64))),
    ("Sampling requires input dims 0 and 1", lambda d: drawn(d, (2, 1, 32, 64))),
    ("between 1 and 32 users .+ got 64", lambda d: drawn(d, (1, 1, 64, 64))),
    ("must be non-zero and divisible by 32", lambda d: drawn(d, (1, 1, 32, 48))),
    ("must yield a power-of-2 number of tiles", lambda d: drawn(d, (1, 1, 32, 96))),
    ("must be contained in device compute grid", lambda d: drawn(d, sub_core_grids=grid(15, 15))),
    (r"at least num_users \(32\) cores, but found 16", lambda d: drawn(d, sub_core_grids=grid(3, 3))),
    ("dtypes are supported for outputs", lambda d: drawn(d, output_tensor=zeros(d, 1, 1, 1, 32))),
    (r"logical shape must be \[1,1,1,32\] \(input dim 2\), got \[1,1,1,64\]",
     lambda d: drawn(d, output_tensor=zeros(d, 1, 1, 1, 64, dtype=U32, layout=ROW))),
    ("Only BFLOAT16 dtypes are supported for p", lambda d: drawn(d, p=zeros(d, 32, dtype=F32, layout=ROW))),
    ("Only ROW_MAJOR layout is supported for k", lambda d: drawn(d, k=zeros(d, 32, dtype=U32))),
    (r"temp must have shape \[32\]", lambda d: drawn(d, temp=zeros(d, 16, layout=ROW))),
    ("Device must be provided when seeds", lambda d: manual_seed(4)),
    (r"must be in the range \[0, 31\]", lambda d: manual_seed(4, device=d, user_ids=32)),
    ("user_ids must not be provided as a scalar", lambda d: manual_seed(seeds(d), user_ids=7)),
    ("Seeds tensor must be of type UINT32", lambda d: manual_seed(seeds(d, dtype=I32), user_ids=seeds(d))),
    ("User IDs tensor must have ROW_MAJOR layout", lambda d: manual_seed(seeds(d), user_ids=seeds(d, layout=TILE))),
    ("Got seeds volume: 3 and user_ids volume: 4", lambda d: manual_seed(seeds(d), user_ids=seeds(d, 4))),
    ("must have the same shape", lambda d: manual_seed(seeds(d, 1, 3), user_ids=seeds(d, 3, 1))),
    ("must be 1-dimensional", lambda d: manual_seed(seeds(d, 1, 3), user_ids=seeds(d, 1, 3))),
    ("Input shape must be 4D, got 3", lambda d: routed(d, 1, 32, 64)),
    ("K must be equal to 32", lambda d: routed(d, 1, 1, 32, 64, k=16)),
    ("inner dim 32 must be a multiple of 64", lambda d: routed(d, 1, 1, 32, 32)),
    ("inner dim 96 must be a power of 2", lambda d: routed(d, 1, 1, 32, 96)),
    ("16 must be a multiple of 32", lambda d: routed(d, 1, 1, 16, 64, layout=ROW)),
    ("Sharded implementation not supported yet", lambda d: routed(d, 1, 1, 32, 64, memory_config=sharded(32, 32))),
    ("must be in tiled format", lambda d: routed(d, 1, 1, 32, 64, layout=ROW)),
    ("Topk mask must be row-broadcastable with last dim == k. Got rank=4",
     lambda d: routed(d, 1, 1, 32, 64, topk_mask_tensor=zeros(d, 1, 1, 32, 32))),
    ("Expert shape inner dim must be padded to 32, got 1",
     lambda d: routed(d, 1, 1, 32, 64, expert_mask_tensor=zeros(d, 1, 1, 1, 64, layout=ROW))),
    ("incorrect shape", lambda d: routed(d, 1, 1, 0, 64, output_tensor=zeros(d, 1, 1, 32, 1))),
    ("Input tensor must be BFLOAT16, got: DataType::FLOAT32", lambda d: ema(zeros(d, 1, 2, 3, 64, dtype=F32), 0.5)),
    ("Input tensor must have TILE layout", lambda d: ema(zeros(d, 1, 2, 3, 64, layout=ROW), 0.5)),
    ("EMA input must be 4D", lambda d: ema(zeros(d, 2, 3, 64), 0.5)),
    ("leading dimension to be 1, got 2", lambda d: ema(zeros(d, 2, 2, 3, 64), 0.5)),
    ("same volume, input: 1024, output: 2048", lambda d: ema(zeros(d, 1, 1, 32, 32), 0.5, out=zeros(d, 1, 1, 32, 64))),
    ("got NaN", lambda d: ema(zeros(d, 1, 2, 3, 64), float("nan"))),
    ("block_h must be greater than 0", in_place),
]  # fmt: skip


@pytest.mark.parametrize(("message", "call"), REFUSED)
def test_what_fails_on_a_device_fails_here(one: MeshDevice, message: str, call: Callable[[MeshDevice], Any]):
    with pytest.raises(RuntimeError, match=message):
        call(one)


@pytest.mark.torch
def test_masks_of_one_row_have_any_rank(one: MeshDevice):
    found = [moe(zeros(one, 1, 1, 32, 64), zeros(one, *n, 64), zeros(one, *n, 32)).shape for n in ((), (1,))]
    assert [tuple(shape) for shape in found] == [(1, 1, 32, 1)] * 2
