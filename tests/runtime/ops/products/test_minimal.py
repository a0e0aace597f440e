"""Products and norms with what models fuse into them, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import BF16, BFP8, F32, held, near, put, rounded
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam
from tt_run.runtime.tuning.matmul import MinimalMatmulConfig

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
pytest.importorskip("torch")
BLOCKS = MinimalMatmulConfig(
    M_block_size=4, K_block_size=4, N_block_size=4, compute_with_storage_grid_size=(8, 8)
)

WIDE = "float64"


def test_products_and_norms_in_one(one: MeshDevice) -> None:
    x, w, first, second = (sample(F32, *shape, seed=s) for s, shape in enumerate(((1, 1, 32, 64), (64, 96), (1, 1, 32, 96), (1, 1, 1, 96))))  # fmt: skip
    product = x.astype(WIDE) @ w
    found = call(
        "experimental.dit_minimal_matmul_addcmul_fused",
        put(one, x),
        put(one, w),
        0.5,
        put(one, first),
        put(one, second),
        config=BLOCKS,
    )
    near(found, (first + 0.5 * product * second).astype(np.float32), steps=64)
    parts = call("experimental.minimal_matmul_split", put(one, x), put(one, w), chunks=3, config=BLOCKS)
    assert [tuple(p.shape) for p in parts] == [(1, 1, 32, 32)] * 3
    near(parts[2], product[..., 64:].astype(np.float32), steps=64)
    normed = call("experimental.dit_rms_norm_unary_fused", put(one, x), 1e-5, activation="relu")
    wanted = x / np.sqrt((x.astype(WIDE) ** 2).mean(-1, keepdims=True) + 1e-5)
    near(normed, np.maximum(wanted, 0).astype(np.float32), steps=16)


@pytest.mark.parametrize("dtype", [BF16, F32, BFP8])
@pytest.mark.parametrize(
    "words", [{}, {"fused_activation": UnaryWithParam(UnaryOpType.RELU)}, {"fuse_swiglu": True}], ids=str
)
def test_results_of_another_type(one: MeshDevice, dtype: DataType, words: dict[str, Any]) -> None:
    x, w = sample(BF16, 1, 1, 32, 64), sample(BF16, 64, 192, seed=1)
    given = {**words, "config": BLOCKS, "dtype": dtype}
    wanted = x.astype(WIDE) @ w
    if "fused_activation" in words:
        wanted = np.maximum(wanted, 0)
    if "fuse_swiglu" in words:
        gates, up = np.moveaxis(wanted.reshape(1, 1, 32, 3, 2, 32), -2, 0)
        wanted = (gates / (1 + np.exp(-gates)) * up).reshape(1, 1, 32, 96)
    operands = put(one, x, BF16), put(one, w, BF16)
    found = call("experimental.minimal_matmul", *operands, **given)
    assert found.dtype is dtype
    near(found, wanted, steps=64 if dtype is F32 else 1)
    wide = call("experimental.minimal_matmul", *operands, **{**given, "dtype": F32})
    assert np.array_equal(held(found), rounded(held(wide), dtype))
    parts = call("experimental.minimal_matmul_split", *operands, chunks=3, **given)
    assert [part.dtype for part in parts] == [dtype] * 3
    assert np.array_equal(np.concatenate([held(part) for part in parts], -1), held(found))


def test_only_columns_are_split(one: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="only supports dim=-1, got dim=3"):
        call(
            "experimental.minimal_matmul_split",
            *(put(one, np.ones(s)) for s in ((1, 1, 32, 64), (64, 96))),
            dim=3,
        )
