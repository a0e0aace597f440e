"""Caches of keys and values written at once."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import F32, held, put
from tt_run.runtime.mesh import MeshDevice

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
pytest.importorskip("torch")


def test_two_caches_at_once(one: MeshDevice) -> None:
    new = [sample(F32, 1, 2, 32, 16, seed=s) for s in (1, 2)]
    pairs = [put(one, np.zeros((2, 4, 64, 16), np.float32)) for _ in range(2)]
    found = call(
        "experimental.paged_fused_update_cache", pairs[0], put(one, new[0]), pairs[1], put(one, new[1]), update_idxs=[3, 40]
    )  # fmt: skip
    for cache, given, values in zip(found, pairs, new, strict=True):
        assert cache.storage is given.storage
        assert np.array_equal(held(cache)[0, :, 3], values[0, 0, :4])
        assert np.array_equal(held(cache)[1, :, 40], values[0, 1, :4])
