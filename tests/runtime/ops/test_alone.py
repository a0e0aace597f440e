"""Larger operations give a device the same bits alone and among others: convolutions, pools, attention, experts, norms, caches.

What lies in one stack follows from how devices are split over ranks. The elementwise rest is in `test_values`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U32, held, put
from tests.sweep import sweep
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.tensor import Tensor

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
Shape = tuple[int, ...]
Computed = Callable[..., Any]


def call(name: str, *arguments: Any, **keywords: Any) -> Any:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None, name
    return operation(*arguments, **keywords)


def _convolved(name: str, **more: Any) -> Computed:
    def compute(x: Tensor, w: Tensor) -> Any:
        return call(
            name, input_tensor=x, weight_tensor=w, device=x.device(), in_channels=8, out_channels=8, batch_size=1,
            input_height=9, input_width=7, kernel_size=(3, 3), padding=(1, 1), **more,
        )  # fmt: skip

    return compute


def _pooled(name: str, *more: Any) -> Computed:
    return lambda x: call(name, x, 1, 9, 7, 32, (3, 2), (2, 1), (1, 0), *more)


def _decoded(q: Tensor, k: Tensor, v: Tensor) -> Any:
    return call("transformer.scaled_dot_product_attention_decode", q, k, v, cur_pos=[5, 40, 61])


def _paged(q: Tensor, k: Tensor, v: Tensor) -> Any:
    device = q.device()
    assert device is not None
    table = put(device, np.random.default_rng(3).permutation(6).reshape(3, 2), I32, ROW)
    at = put(device, np.array([5, 40, 61]), I32, ROW)
    name = "transformer.paged_scaled_dot_product_attention_decode"
    return call(name, q, k, v, table, cur_pos_tensor=at)


CASES: dict[str, tuple[list[Shape], Computed]] = {
    "conv2d": ([(1, 1, 63, 8), (8, 8, 3, 3)], _convolved("conv2d")),
    "conv2d by channel": ([(1, 1, 63, 8), (8, 1, 3, 3)], _convolved("conv2d", groups=8, dilation=(2, 1))),
    "conv_transpose2d": ([(1, 1, 63, 8), (8, 8, 3, 3)], _convolved("conv_transpose2d", stride=(2, 2))),
    "max_pool2d": ([(1, 1, 63, 32)], _pooled("max_pool2d", (1, 1))),
    "avg_pool2d": ([(1, 1, 63, 32)], _pooled("avg_pool2d")),
    "adaptive": ([(1, 1, 63, 32)], lambda x: call("adaptive_avg_pool2d", x, 1, 9, 7, 32, (4, 3))),
    "upsample": ([(1, 5, 6, 32)], lambda x: call("upsample", x, 2, mode="bilinear")),
    "grid_sample": ([(1, 5, 6, 32), (1, 4, 3, 2)], lambda x, grid: call("grid_sample", x, grid)),
    "rotate": ([(1, 6, 6, 32)], lambda x: call("rotate", x, 30.0, interpolation_mode="bilinear")),
    "attention": (
        [(1, 4, 33, 32), (1, 2, 33, 32), (1, 2, 33, 32)],
        lambda q, k, v: call("transformer.scaled_dot_product_attention", q, k, v, is_causal=True),
    ),
    "decode": ([(1, 3, 8, 32), (3, 2, 64, 32), (3, 2, 64, 32)], _decoded),
    "paged decode": ([(1, 3, 8, 32), (6, 2, 32, 32), (6, 2, 32, 32)], _paged),
    "group_norm": (
        [(1, 1, 64, 64)],
        lambda x: call("group_norm", x, num_groups=8, epsilon=1e-5, inplace=False),
    ),
    "batch_norm": ([(2, 4, 5, 6)], lambda x: call("batch_norm", x, training=True)),
    "topk": ([(1, 1, 33, 64)], lambda x: call("topk", x, 8)),
    "moe": (
        [(1, 1, 32, 64), (1, 1, 1, 64), (1, 1, 1, 32)],
        lambda x, experts, best: call("moe", x, experts, best, 32),
    ),
    "moreh_layer_norm": ([(2, 4, 5, 6)], lambda x: call("moreh_layer_norm", x, 2)[0]),
    "moreh_group_norm": ([(2, 4, 5, 6)], lambda x: call("moreh_group_norm", x, 2)[0]),
    "moreh_norm": ([(2, 4, 33, 6)], lambda x: call("moreh_norm", x, 3.5, dim=2)),
    "moreh_matmul": ([(2, 33, 40), (2, 40, 17)], lambda a, b: call("moreh_matmul", a, b)),
    "ema": ([(1, 2, 32, 64)], lambda x: call("ema", x, 0.3)),
    "fft": ([(2, 24)], lambda x: call("experimental.fft", x)[0]),
    "rms_norm": ([(1, 1, 33, 72), (1, 72)], lambda x, w: call("rms_norm", x, weight=w)),
}
IN_BFLOAT16 = ("adaptive", "avg_pool2d", "ema", "max_pool2d", "upsample")
IN_ROWS = ("grid_sample", "upsample", "rotate", "fft")


@pytest.mark.parametrize("dtype", sweep([F32, BF16], quick=[BF16]), ids=str)
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_device_gives_the_same_bits_alone_and_among_others(
    one: MeshDevice, mesh: MeshDevice, name: str, dtype: DataType
):
    shapes, compute = CASES[name]
    dtype = BF16 if name in IN_BFLOAT16 else dtype
    layout = ROW if name in IN_ROWS else TILE
    rng = np.random.default_rng(11)
    stacks = [rng.standard_normal((8, *shape)).astype(np.float32) for shape in shapes]
    cut = [s.reshape(8 * s.shape[1], *s.shape[2:]) for s in stacks]
    together = compute(*(put(mesh, a, dtype, layout, shard=0) for a in cut))
    for device in (0, 3, 7):
        alone = compute(*(put(one, s[device], dtype, layout) for s in stacks))
        assert bits(together, device) == bits(alone, 0), device


def test_rows_of_a_table(one: MeshDevice, mesh: MeshDevice):
    ids, table = np.arange(8 * 4).reshape(8, 4) % 9, np.random.default_rng(1).standard_normal((9, 32))
    weights = [put(device, table, BF16, ROW) for device in (mesh, one)]
    together = call("embedding", put(mesh, ids, U32, ROW, shard=0), weights[0])
    assert bits(together, 5) == bits(call("embedding", put(one, ids[5:6], U32, ROW), weights[1]), 0)


def bits(result: Any, device: int) -> list[bytes]:
    """Every result's shard of a local device."""
    several = result if isinstance(result, (list, tuple)) else [result]
    return [held(tensor, device).tobytes() for tensor in several if isinstance(tensor, Tensor)]
