"""Weights of experts packed for a ring of cores: digests of the reference's own packing, and back again."""

import hashlib

import numpy as np
import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.ops.experts import ring_layout, ring_weights

torch = pytest.importorskip("torch")

TILE = 32
# (cores, hidden and intermediate size in tiles), then shape and digest of the four tensors that the reference's functions make of
# numbers from 0 up: W0 and W1, the same with biases, W2, the same with a bias. Source: reference library 0.81.1.
PACKED = (
    (
        (12, 13, 36),
        (
            ((12, 1, 1, 3, 224, 128), "c162a5a98ef8"),
            ((12, 1, 1, 3, 224, 128), "9fa4020328ea"),
            ((12, 1, 1, 1, 1344, 128), "f9c19720bbab"),
            ((12, 1, 1, 1, 1344, 128), "721cd1454c48"),
        ),
    ),
    (
        (12, 49, 17),
        (
            ((12, 1, 1, 6, 224, 128), "bbc38fbe60bc"),
            ((12, 1, 1, 6, 224, 128), "1f985edc7a7a"),
            ((12, 1, 1, 2, 672, 128), "1bb771fbf219"),
            ((12, 1, 1, 2, 672, 128), "c34a12715002"),
        ),
    ),
    (
        (12, 8, 12),
        (
            ((12, 1, 1, 1, 224, 128), "d476cd8d9b59"),
            ((12, 1, 1, 1, 224, 128), "f53368b6699b"),
            ((12, 1, 1, 1, 448, 128), "1b5835c85f3f"),
            ((12, 1, 1, 1, 448, 128), "ecddb355e4f7"),
        ),
    ),
    (
        (8, 17, 8),
        (
            ((8, 1, 1, 2, 224, 128), "606c71309c82"),
            ((8, 1, 1, 2, 224, 128), "706a253f25d9"),
            ((8, 1, 1, 1, 448, 128), "60602c817bb3"),
            ((8, 1, 1, 1, 448, 128), "c63c3327c4fb"),
        ),
    ),
    (
        (7, 28, 21),
        (
            ((7, 1, 1, 6, 224, 128), "27bc2cc66ad7"),
            ((7, 1, 1, 8, 224, 128), "720ff1f49a75"),
            ((7, 1, 1, 1, 672, 128), "8538d4139e48"),
            ((7, 1, 1, 1, 896, 128), "e8fa16900425"),
        ),
    ),
    (
        (8, 80, 20),
        (
            ((8, 1, 1, 10, 320, 128), "b51a291bfa42"),
            ((8, 1, 1, 15, 224, 128), "37721052af2e"),
            ((8, 1, 1, 5, 320, 128), "7a7f7a85762c"),
            ((8, 1, 1, 3, 672, 128), "6065f6263003"),
        ),
    ),
)


def numbers(*shape: int):
    return torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(1, 1, *shape)


@pytest.mark.parametrize(("sizes", "wanted"), PACKED)
def test_packed_weights_have_the_bits_of_the_reference(sizes, wanted):
    cores, hidden, intermediate = sizes
    first, second = ring_weights.shard_maps(ring_layout.Ring(hidden, intermediate, cores))
    k, n = hidden * TILE, intermediate * TILE
    gate, down = numbers(k, n), numbers(n, k)
    wide, long = numbers(n), numbers(k)
    found = (
        ring_weights.prepare_w0_w1_tensor_for_moe_compute(gate, -gate, 1, 1, k, n, first),
        ring_weights.prepare_w0_w1_tensor_with_bias(gate, -gate, wide, -wide, 1, 1, k, n, first),
        ring_weights.prepare_w2_tensor_for_moe_compute(down, 1, 1, n, k, second, first),
        ring_weights.prepare_w2_tensor_with_bias(down, long, 1, 1, n, k, second, first),
    )
    digests = tuple((tuple(t.shape), hashlib.sha256(t.numpy().tobytes()).hexdigest()[:12]) for t in found)
    assert digests == wanted


@pytest.mark.parametrize("bias", [False, True])
def test_every_tile_is_found_again_in_its_layer(bias):
    ring = ring_layout.Ring(9, 13, 12, bias)
    packings = ring_layout.ring_packings(ring)
    rng = np.random.default_rng(0)
    deep, wide = (ring.hidden + bias) * TILE, ring.intermediate * TILE
    gate, up = rng.standard_normal((2, 2, 3, deep, wide)).astype(np.float32)
    down = rng.standard_normal((2, 3, (ring.intermediate + bias) * TILE, ring.hidden * TILE)).astype(
        np.float32
    )
    packed = ring_layout.pack((gate, up), packings[0])
    for layer in range(2):
        back = ring_layout.unpack(packed, packings[0], ring.hidden + bias, ring.intermediate, layer)
        assert np.array_equal(back, np.stack((gate[layer], up[layer]), axis=1))
        back = ring_layout.unpack(
            ring_layout.pack((down,), packings[1]), packings[1], ring.intermediate + bias, ring.hidden, layer
        )
        assert np.array_equal(back[:, 0], down[layer])
    assert (packed != 0).sum() == (gate != 0).sum() + (up != 0).sum()


def test_bfloat16_keeps_its_bits():
    ring = ring_layout.Ring(4, 12, 12)
    first, _ = ring_weights.shard_maps(ring)
    weights = torch.randn(1, 2, 128, 384, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    whole, half = (
        ring_weights.prepare_w0_w1_tensor_for_moe_compute(w, w, 1, 2, 128, 384, first)
        for w in (weights.float(), weights)
    )
    assert half.dtype is torch.bfloat16
    assert torch.equal(half.float(), whole)


def test_places_of_the_weights():
    ring = ring_layout.Ring(64, 32, 12)
    first, second = ring_weights.shard_maps(ring)
    assert (first, second) == ([3, 2, 3] * 4, [(1, 3), (2, 2), (1, 3)] * 4)
    cores = [CoreCoord(bank, 0) for bank in range(12)]
    banks = CoreRangeSet([CoreRange(core, core) for core in cores])
    gates, down, *filled = ring_weights.get_weight_mem_configs(1, 2, 2048, 1024, first, second, banks)
    assert (list(gates.shard_spec.shape), list(down.shard_spec.shape)) == ([6272, 128], [4480, 128])
    assert filled == [2240, 1120]


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"N dimension \(50\) must be divisible by ttnn.TILE_SIZE \(32\)"):
        ring_weights.prepare_w0_w1_tensor_for_moe_compute(None, None, 1, 1, 64, 50, [1])
    with pytest.raises(ValueError, match="one entry per ring core"):
        ring_weights.prepare_w0_w1_tensor_for_moe_compute(None, None, 1, 1, 64, 64, [])
    with pytest.raises(RuntimeError, match=r"kernel distribution \[1, 1\], got: \[2, 0\]"):
        ring_weights.prepare_w0_w1_tensor_for_moe_compute(None, None, 1, 1, 64, 64, [2, 0])
