"""Products and norms fused with collectives: the arguments of each part mean what they mean of the part alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, held, near, put
from tt_run.runtime import catalog
from tt_run.runtime.ccl.collectives import all_gather, reduce_scatter
from tt_run.runtime.ccl.semaphores import create_global_semaphore
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.ops import linear
from tt_run.runtime.tensor.spec.memory_config import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.tensor.tensor import Tensor


@pytest.fixture
def line() -> Any:
    device = open_mesh_device(MeshShape(1, 4))
    yield device
    device.close()


def call(name: str, *arguments: Any, **keywords: Any) -> Any:
    operation = catalog.find(f"ttnn.experimental.{name}")
    assert operation is not None, name
    return operation(*arguments, **keywords)


def semaphores(device: MeshDevice) -> list[Any]:
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))])
    return [create_global_semaphore(device, cores, 0) for _ in range(3)]


def sample(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def same(found: Tensor, wanted: Tensor) -> None:
    assert found.dtype is wanted.dtype and tuple(found.shape) == tuple(wanted.shape)
    for device in range(found.device().get_num_devices()):
        assert held(found, device).tobytes() == held(wanted, device).tobytes()


WORDS = [
    {"bias": True},
    {"transpose_b": True},
    {"activation": "silu"},
    {"dtype": BF16},
    {"bias": True, "transpose_b": True, "activation": "relu"},
]


def asked(line: MeshDevice, words: dict[str, Any]) -> dict[str, Any]:
    return words | ({"bias": put(line, sample(1, 1, 1, 128, seed=2))} if "bias" in words else {})


@pytest.mark.parametrize("words", WORDS, ids=lambda words: "+".join(words))
def test_a_product_of_what_is_gathered(line: MeshDevice, words: dict[str, Any]) -> None:
    x, w = put(line, sample(1, 1, 32, 256), shard=3), sample(1, 1, 256, 128, seed=1)
    weights = put(line, w.swapaxes(-1, -2) if "transpose_b" in words else w)
    given = asked(line, words)
    gathered, product = call(
        "all_gather_matmul_async", x, weights, None, 3, semaphores(line)[:2], CoreCoord(0, 6), **given
    )
    same(gathered, all_gather(x, 3))
    same(product, linear(gathered, weights, **given))


@pytest.mark.parametrize("words", WORDS, ids=lambda words: "+".join(words))
def test_a_sum_of_products(line: MeshDevice, words: dict[str, Any]) -> None:
    x, w = put(line, sample(1, 1, 32, 256), shard=3), sample(1, 1, 256, 128, seed=1)
    turned = "transpose_b" in words
    weights = put(line, w.swapaxes(-1, -2) if turned else w, shard=3 if turned else 2)
    given = asked(line, words)
    product, scattered = call(
        "matmul_reduce_scatter_async", x, weights, None, None, 3, semaphores(line), CoreCoord(0, 6), **given
    )
    same(product, linear(x, weights, **given))
    same(scattered, reduce_scatter(product, 3))


@pytest.mark.parametrize(
    "words",
    [{"transpose_b": True}, {"activation": "relu"}, {"dtype": BF16}],
    ids=lambda words: "+".join(words),
)
def test_a_product_beside_a_sum(line: MeshDevice, words: dict[str, Any]) -> None:
    x, w = put(line, sample(1, 1, 32, 256), shard=3), sample(1, 1, 256, 128, seed=1)
    turned = "transpose_b" in words
    weights = put(line, w.swapaxes(-1, -2) if turned else w, shard=3 if turned else 2)
    product, scattered = call(
        "llama_rs_matmul", x, weights, x, 3, semaphores(line)[0], 1, line, rs_tensor=x, **words
    )
    same(product, linear(x, weights, **words))
    same(scattered, reduce_scatter(x, 3, cluster_axis=1))


@pytest.mark.parametrize("kind", ["rms", "layer"])
@pytest.mark.parametrize("axis", [None, 1])
def test_norms_of_rows_that_are_cut(line: MeshDevice, kind: str, axis: int | None) -> None:
    x, weight, bias = sample(1, 1, 32, 256), sample(1, 256, seed=1), sample(1, 256, seed=2)
    shard = None if axis is None else 3
    rows = None if axis is None else 1
    found = call(
        f"dit_fused_distributed_{kind}norm", put(line, x, shard=shard), axis, line, semaphores(line), epsilon=0.5,
        weight=put(line, weight, shard=rows), bias=put(line, bias, shard=rows), dtype=F32,
    )  # fmt: skip
    wide = x.astype(float)
    wide = wide - wide.mean(-1, keepdims=True) if kind == "layer" else wide
    wanted = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 0.5) * weight + bias
    near(found, wanted if axis is None else wanted[..., :64], steps=64)
