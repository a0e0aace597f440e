"""The output projection of latent attention against NumPy, its weight packed as programs pack it for twelve DRAM banks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, BFP8, F32, held, near, put, rounded
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice

TILES = [44, 44, 42, 42, 42, 42, 42, 42, 44, 44, 42, 42]
K, N, M = 512 * 32, 896, 32


def call(*given: Any, **words: Any) -> Any:
    found = catalog.find("ttnn.experimental.deepseek.mla.matmul_wo")
    assert found is not None
    return found(*given, **words)


def packed(weight: np.ndarray) -> np.ndarray:
    """Rows of each bank: a block of 224 columns after the other, each with the bank's rows, and zeros behind them."""
    banks, first = np.zeros((12, 4 * 44 * 32, 224), np.float32), 0
    for bank, tiles in zip(banks, TILES, strict=True):
        rows = weight[first : first + tiles * 32]
        for block in range(4):
            bank[block * tiles * 32 : (block + 1) * tiles * 32] = rows[:, block * 224 : (block + 1) * 224]
        first += tiles * 32
    return banks


def gathered(values: np.ndarray) -> np.ndarray:
    """The product's columns of what seven cores collect, of which each has four tiles 224 columns apart."""
    return np.concatenate(
        [values[:, core * 128 + tile * 32 :][:, :32] for tile in range(4) for core in range(7)], axis=1
    )


@pytest.mark.parametrize("layers", [pytest.param(1, marks=pytest.mark.wide), 2])
def test_a_packed_weight_is_that_of_a_product(one: MeshDevice, layers: int):
    rng = np.random.default_rng(5)
    x = rounded(rng.uniform(-0.5, 0.5, (M, K)).astype(np.float32), BF16)
    weights = rng.uniform(-0.5, 0.5, (layers, K, N)).astype(np.float32)
    copies, out = put(one, np.stack([x] * 12), BF16), put(one, np.zeros((M, N)), F32)
    weight = put(one, np.stack([packed(w) for w in weights]), BFP8)
    assert call(copies, w_tensor=weight, output_tensor=out, layer_id=layers - 1).storage is out.storage
    exact = x @ rounded(weights[layers - 1], BFP8)
    np.testing.assert_allclose(gathered(held(out)), exact, rtol=1e-3, atol=2e-3)
    if layers == 1:
        short = put(one, np.zeros((M, N)), BF16)
        call(copies, w_tensor=weight[0], output_tensor=short, layer_id=0)
        near(short, rounded(held(out), BF16), steps=1)


def test_what_is_packed_otherwise_refuses(one: MeshDevice):
    copies, out = put(one, np.zeros((12, M, K)), BF16), put(one, np.zeros((M, N)), BF16)
    with pytest.raises(RuntimeError, match="takes a weight of Shape"):
        call(copies, w_tensor=put(one, np.zeros((1, 32, 224)), BFP8), output_tensor=out, layer_id=0)
    with pytest.raises(RuntimeError, match="a copy of its operand for each of 12 DRAM banks"):
        call(put(one, np.zeros((M, K)), BF16), w_tensor=out, output_tensor=out, layer_id=0)
