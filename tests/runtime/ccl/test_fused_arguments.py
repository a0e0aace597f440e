"""Products and norms fused with collectives: the arguments of each part mean what they mean of the part alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, held, near, put
from tt_run.runtime import catalog
from tt_run.runtime.ccl.collectives import all_gather, reduce_scatter
from tt_run.runtime.ccl.semaphores import create_global_semaphore
from tt_run.runtime.enums import Topology
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.ops import linear
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam


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


def test_products_of_turned_inputs(line: MeshDevice) -> None:
    x, w = put(line, sample(1, 1, 256, 32), shard=2), put(line, sample(1, 1, 256, 128, seed=1), shard=2)
    wanted, room = linear(x, w, transpose_a=True), put(line, np.ones((1, 1, 32, 32)))
    product, scattered = call(
        "matmul_reduce_scatter_async",
        x,
        w,
        None,
        room,
        3,
        semaphores(line),
        CoreCoord(0, 6),
        transpose_a=True,
    )
    same(product, wanted)
    same(room, reduce_scatter(wanted, 3))
    assert scattered.storage is room.storage
    place = put(line, np.ones((1, 1, 32, 128)))
    product, scattered = call(
        "llama_rs_matmul", x, w, x, 3, semaphores(line)[0], 1, line, rs_tensor=wanted, transpose_a=True,
        optional_output_tensor=place,
    )  # fmt: skip
    assert product.storage is place.storage
    same(place, wanted)
    same(scattered, reduce_scatter(wanted, 3, cluster_axis=1))


@pytest.mark.parametrize("dtype", [None, F32, BF16])
def test_a_gathered_product_lies_where_it_is_asked_for(line: MeshDevice, dtype: Any) -> None:
    x, w = put(line, sample(1, 1, 32, 256), BF16, shard=3), put(line, sample(256, 128, seed=1), BF16)
    found = call(
        "llama_all_gather_matmul_async", x, w, x, 3, 1, line, Topology.Linear, semaphores(line)[0], dtype=dtype,
        ag_memory_config=L1_MEMORY_CONFIG, mm_memory_config=L1_MEMORY_CONFIG,
    )  # fmt: skip
    same(found, linear(all_gather(x, 3), w, dtype=dtype))
    assert found.memory_config() == L1_MEMORY_CONFIG


RELU = UnaryWithParam(UnaryOpType.RELU)


def fused(x: np.ndarray, w: np.ndarray, words: dict[str, Any]) -> np.ndarray:
    """In float64 what a minimal product has fused into it."""
    out = x.astype(float) @ w + words.get("bias", 0)
    if "fused_activation" in words:
        out = np.maximum(out, 0)
    if "fused_ternary_scalar" in words:
        scaled = words["fused_ternary_scalar"] * out * words["fused_ternary_input_b"]
        out = words["fused_ternary_input_a"] + scaled
    return out


@pytest.mark.parametrize("words", [
    {"fused_activation": RELU},
    {"bias": sample(1, 128, seed=3), "fused_activation": RELU, "read_local_slice_from_input": True},
    {"fused_ternary_input_a": sample(1, 1, 32, 128, seed=4), "fused_ternary_input_b": sample(1, 1, 1, 128, seed=5), "fused_ternary_scalar": 0.5},
], ids="+".join)  # fmt: skip
def test_a_strided_gather_and_what_is_fused(line: MeshDevice, words: dict[str, Any]) -> None:
    x, w = sample(1, 1, 32, 256), sample(256, 128, seed=1)
    given = {n: put(line, v) if isinstance(v, np.ndarray) else v for n, v in words.items()}
    gathered, product = call(
        "strided_all_gather_minimal_matmul_async", put(line, x, shard=3), put(line, w), None, 3, semaphores(line)[:2],
        CoreCoord(0, 6), cluster_axis=1, **given,
    )  # fmt: skip
    assert np.array_equal(held(gathered), x)
    near(product, fused(x, w, words), steps=64)


@pytest.mark.parametrize("words", [
    {"bias": sample(1, 128, seed=3)},
    {"fused_activation": RELU, "chunk_width_in_mm_blocks": 1},
    {"bias": sample(1, 128, seed=3), "fused_activation": RELU, "mm_window_blocks": 2},
], ids="+".join)  # fmt: skip
def test_a_strided_sum_of_what_is_fused(line: MeshDevice, words: dict[str, Any]) -> None:
    x, w = sample(1, 1, 32, 256), sample(256, 128, seed=1)
    given = {n: put(line, v) if isinstance(v, np.ndarray) else v for n, v in words.items()}
    room = put(line, np.ones((1, 1, 32, 32)))
    product, scattered = call(
        "minimal_matmul_strided_reduce_scatter_async", put(line, x, shard=3), put(line, w, shard=0), 3,
        semaphores(line), CoreCoord(0, 6), compute_kernel_config=None, cluster_axis=1,
        optional_rs_output_tensor=room, using_persistent_buffers=True, **given,
    )  # fmt: skip
    parts = [fused(x[..., 64 * n : 64 * n + 64], w[64 * n : 64 * n + 64], words) for n in range(4)]
    near(product, parts[0], steps=64)
    assert scattered.storage is room.storage
    near(room, sum(parts)[..., :32], steps=256)
    assert np.abs(held(room, 3) - sum(parts)[..., 96:]).max() < 1e-3


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
