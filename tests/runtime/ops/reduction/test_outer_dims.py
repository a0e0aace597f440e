"""Sums over batches and channels, against NumPy."""

from __future__ import annotations

import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import F32, near, put
from tt_run.runtime.mesh import MeshDevice

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
pytest.importorskip("torch")


def test_sums_over_batch_and_channels(one: MeshDevice) -> None:
    x = sample(F32, 3, 4, 32, 64)
    near(
        call("experimental.fast_reduce_nc", put(one, x), dims=[0, 1]), x.sum((0, 1), keepdims=True), steps=16
    )
    near(call("experimental.fast_reduce_nc", put(one, x), dims=[1]), x.sum(1, keepdims=True), steps=16)
    parts = call("experimental.deepseek_moe_fast_reduce_nc", put(one, x), 0, split_size=32)
    near(parts[1], x.sum(0, keepdims=True)[..., 32:], steps=16)
