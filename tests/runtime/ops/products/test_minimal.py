"""Products and norms with what models fuse into them, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import F32, near, put
from tt_run.runtime.mesh import MeshDevice
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
