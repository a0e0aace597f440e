"""The gate on a ring of twelve cores, packed tile by tile, against sums in float64 and sorted pairs."""

from collections.abc import Iterator

import numpy as np
import pytest

from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor

LAYERS, HIDDEN, EXPERTS, TOKENS = 2, 7168, 256, 32
rng = np.random.default_rng(5)
# Small numbers of few bits: their sums are exact, and many scores equal.
WORDS = rng.integers(-1, 2, (TOKENS, HIDDEN)).astype(np.float32)
WEIGHTS = rng.integers(-2, 3, (LAYERS, HIDDEN, EXPERTS)).astype(np.float32) / 64
BIAS = rng.integers(-32, 32, (LAYERS, EXPERTS)).astype(np.float32) / 64
RECEIVERS = (1, 2, 4, 5, 7, 8, 10, 11)


def packed() -> np.ndarray:
    room = np.zeros((12, LAYERS, 77, 32, 64), np.float32)
    for layer, tile, group in np.ndindex(LAYERS, HIDDEN // 32, EXPERTS // 32):
        block = WEIGHTS[layer, tile * 32 : tile * 32 + 32, group * 32 : group * 32 + 32]
        core = RECEIVERS[group]
        if tile < 152:
            room[core, layer, tile // 2, :, tile % 2 * 32 :][:, :32] = block
        else:
            room[group // 2 * 3, layer, tile - 152, :, group % 2 * 32 :][:, :32] = block
        room[core, layer, 76, 0, :32] = BIAS[layer, group * 32 : group * 32 + 32]
    return room


def rounded(values: np.ndarray) -> np.ndarray:
    """To the nearest bfloat16, to even where there are two."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def wanted(layer: int) -> np.ndarray:
    sums = WORDS.astype(np.float64) @ WEIGHTS[layer]
    return rounded((1 / (1 + np.exp(-sums))).astype(np.float32) + BIAS[layer])


def chosen(scores: np.ndarray) -> list[int]:
    """A token's experts; of equal numbers above zero the last is first, of those below zero the first."""

    def order(pair: tuple[np.float32, int]) -> tuple[np.float32, int]:
        return (pair[0], pair[1] if pair[0] >= 0 else -pair[1])

    groups = scores.reshape(8, 32)
    ranks = [
        (rounded(np.sort(group)[-1:] + np.sort(group)[-2:-1])[0], number)
        for number, group in enumerate(groups)
    ]
    best = {number for _, number in sorted(ranks, key=order)[-4:]}
    pairs = [(value, number) for number, value in enumerate(scores) if number // 32 in best]
    return [number for _, number in sorted(pairs, key=order)[:-9:-1]]


@pytest.fixture
def one() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(1, 1))
    yield device
    device.close()


def put(
    device: MeshDevice,
    values: np.ndarray,
    way: TensorMemoryLayout | None = None,
    piece: tuple[int, int] = (0, 0),
) -> Tensor:
    place = DRAM_MEMORY_CONFIG
    if way is not None:
        cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(5, 1))])
        place = MemoryConfig(way, BufferType.L1, ShardSpec(cores, piece, ShardOrientation.ROW_MAJOR))
    return from_torch(values, dtype=DataType.BFLOAT16, layout=Layout.TILE, device=device, memory_config=place)


def operands(device: MeshDevice) -> tuple[Tensor, Tensor, Tensor]:
    copies = np.tile(WORDS, (12, 1, 1))
    return (
        put(device, copies, TensorMemoryLayout.HEIGHT_SHARDED, (TOKENS, HIDDEN)),
        put(device, packed()),
        put(
            device, np.full((TOKENS, 12 * 32), 9, np.float32), TensorMemoryLayout.WIDTH_SHARDED, (TOKENS, 32)
        ),
    )


def gate(given: tuple[Tensor, Tensor, Tensor], **words: int) -> Tensor:
    found = catalog.find("ttnn.experimental.deepseek.moe.moe_gate_mm")
    assert found is not None
    return found(
        given[0], w_tensor=given[1], output_tensor=given[2], **{"layer_id": 0, "column_id": 0, **words}
    )


def shard(tensor: Tensor, device: int) -> np.ndarray:
    held = tensor.shards.of(device)
    assert held is not None
    return held


def bits(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16


def test_the_eight_experts_of_each_token(one: MeshDevice) -> None:
    given = operands(one)
    for layer, column in ((0, 0), (1, 5)):
        found = gate(given, layer_id=layer, column_id=column)
        assert found.storage is given[2].storage
        tiles = shard(found, 0).reshape(TOKENS, 12, 32).swapaxes(0, 1)
        scores = wanted(layer)
        for group, core in enumerate(RECEIVERS[:-1]):
            assert np.array_equal(tiles[core], scores[:, group * 32 : group * 32 + 32])
        for token in range(TOKENS):
            experts = chosen(scores[token])
            assert np.array_equal(tiles[-1][:8, token], scores[token, experts])
            assert (bits(tiles[-1][8:16, token]) >> 7).tolist() == experts
            low, high = bits(tiles[-1][16:18, token]).tolist()
            mask = sum(1 << expert % 32 for expert in experts if expert // 32 == column)
            for half, word in ((low, mask & 0xFFFF), (high, mask >> 16)):
                assert (half >> 7 & 0xFF, half & 0x7F, half >> 15) == (
                    word & 0xFF,
                    word >> 8 & 0x7F,
                    word >> 15,
                )


def test_sending_cores_keep_their_part(one: MeshDevice) -> None:
    found = shard(gate(operands(one)), 0)
    for core in (0, 3, 6, 9):
        first = core // 3 * 64
        part = WORDS[:, 152 * 32 :].astype(np.float64) @ WEIGHTS[0, 152 * 32 :, first : first + 32]
        assert np.array_equal(found[:, core * 32 : core * 32 + 32], rounded(part))


def test_what_the_ring_does_not_take_is_refused(one: MeshDevice) -> None:
    tokens, weights, output = given = operands(one)
    for bad, words, text in (
        (given, {"layer_id": 2}, "layer_id 2 of 2"),
        (given, {"column_id": 8}, "column_id 8 of 8"),
        ((put(one, WORDS), weights, output), {}, r"input_tensor must be \(12, 32, 7168\) of bfloat16"),
        ((tokens, put(one, WEIGHTS), output), {}, r"w_tensor must be \(12, L, 77, 32, 64\)"),
        ((tokens, weights, put(one, np.zeros((32, 32)))), {}, r"output_tensor must be \(32, 384\)"),
        (
            (put(one, np.tile(WORDS, (12, 1, 1))), weights, output),
            {},
            "input_tensor must be .*HEIGHT_SHARDED",
        ),
        ((tokens, weights, put(one, np.zeros((32, 384)))), {}, "output_tensor must be .*WIDTH_SHARDED"),
    ):
        with pytest.raises(RuntimeError, match=text):
            gate(bad, **words)
