"""GPT-OSS's experts in one call, packed tile by tile for the ring of twelve cores, against sums in float64."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tt_run.runtime import catalog
from tt_run.runtime.ccl.fused.expert_gpt import _check_weights
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout, Topology
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes

SIZE, TOKENS, EXPERTS, CHOICES = 2880, 8, 3, 2
SHARES = (8, 8, 7, 7, 8, 8, 7, 7, 8, 8, 7, 7)
BEGINS = np.cumsum((0, *SHARES))
END = 0xFFFFFFFF
rng = np.random.default_rng(3)
WORDS = rng.integers(-2, 3, (TOKENS, SIZE)).astype(np.float32) / 2
# Experts 0 to 2 are the first device's, 3 to 5 the second's. Nobody sent the sixth token.
CHOSEN = np.array([[0, 3], [2, 0], [5, 1], [4, 0], [2, 1], [0, 0], [3, 2], [1, 5]], np.uint16)
SCORES = rng.integers(1, 9, (TOKENS, CHOICES)).astype(np.float32) / 8
OWNERS = np.tile(np.array([0, 0, 0, 1, 1, 1], np.uint16), (2, 1))
SENT = [t for t in range(TOKENS) if t != 5]

pytestmark = pytest.mark.wide  # weights of 2880 x 2880 x 3 for each expert take seconds to pack, and a GB


def matrices() -> list[np.ndarray]:
    """W0, W1 and W2 (experts, 2880 + 32, 2880), a bias in the first row of the last tiles."""
    made = [np.zeros((EXPERTS, SIZE + 32, SIZE), np.float32) for _ in range(3)]
    for matrix in made:
        one = np.frombuffer(rng.bytes(SIZE * SIZE), np.int8).reshape(SIZE, SIZE) / np.float32(2048)
        for expert in range(EXPERTS):
            matrix[expert, :SIZE] = np.roll(one, 77 * expert, axis=1)
        matrix[:, SIZE] = rng.integers(-8, 9, (EXPERTS, SIZE)) / 8
    return made


def packed(gate: np.ndarray, up: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first = np.zeros((12, 1, EXPERTS, 4, SIZE + 32, 128), np.float32)
    second = np.zeros((12, 1, EXPERTS, 2, SIZE + 32, 128), np.float32)
    for core, share in enumerate(SHARES):
        # Rows of the second product come as the ring brings them: from this core, the one before, and so on.
        senders = [(core - step) % 12 for step in range(12)]
        order = [t for sender in senders for t in range(BEGINS[sender], BEGINS[sender + 1])]
        rows = np.concatenate([np.arange(t * 32, t * 32 + 32) for t in (*order, 90)])
        for place in range(share):
            columns = slice((BEGINS[core] + place) * 32, (BEGINS[core] + place) * 32 + 32)
            left = place % 2 * 64
            first[core, 0, :, place // 2, :, left : left + 32] = gate[:, :, columns]
            first[core, 0, :, place // 2, :, left + 32 : left + 64] = up[:, :, columns]
            second[core, 0, :, place // 4, :, place % 4 * 32 : place % 4 * 32 + 32] = down[:, rows, columns]
    return first, second


def wanted(gate: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """[experts, tokens, 2880] in float64."""
    out = np.zeros((EXPERTS, TOKENS, SIZE))
    for expert in range(EXPERTS):
        g, u = (WORDS.astype(np.float64) @ m[expert, :SIZE] + m[expert, SIZE] for m in (gate, up))
        g, u = np.minimum(g, 7), np.clip(u, -7, 7)
        out[expert] = ((u + 1) * g / (1 + np.exp(-1.702 * g))) @ down[expert, :SIZE] + down[expert, SIZE]
    return out


@pytest.fixture(scope="module")
def weights() -> SimpleNamespace:
    made = matrices()
    return SimpleNamespace(packed=packed(*made), wanted=wanted(*made))


@pytest.fixture(scope="module")
def mesh() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(1, 2), l1_small_size=16384)
    yield device
    device.close()


@pytest.fixture(scope="module")
def given(mesh: MeshDevice, weights: SimpleNamespace) -> dict[str, Tensor]:
    first, second = (
        from_torch(
            w, dtype=DataType.BFLOAT16, layout=Layout.TILE, device=mesh, memory_config=DRAM_MEMORY_CONFIG
        )
        for w in weights.packed
    )
    return {
        "input_tensor": rows(mesh, WORDS),
        "expert_indices": rows(mesh, CHOSEN, DataType.UINT16, on_core=True),
        "expert_scores": rows(mesh, SCORES, on_core=True),
        "expert_mapping": rows(mesh, OWNERS, DataType.UINT16),
        "w0_w1_tensor": first,
        "w2_tensor": second,
    }


def rows(
    device: MeshDevice, values: np.ndarray, dtype: DataType = DataType.BFLOAT16, on_core: bool = False
) -> Tensor:
    place = L1_MEMORY_CONFIG
    if on_core:
        core = CoreRangeSet([CoreRange(CoreCoord(6, 6), CoreCoord(6, 6))])
        spec = ShardSpec(core, values.shape, ShardOrientation.ROW_MAJOR)
        place = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, spec)
    return from_torch(values, dtype=dtype, layout=Layout.ROW_MAJOR, device=device, memory_config=place)


def shard(tensor: Tensor, device: int) -> np.ndarray:
    held = tensor.shards.of(device)
    assert held is not None
    return held


def call(name: str, *given: object, **words: object) -> Any:
    found = catalog.find(f"ttnn.experimental.{name}")
    assert found is not None
    return found(*given, **words)


def computed(given: dict[str, Tensor], **words: object) -> list[Tensor]:
    return call("moe_gpt", **{**given, "cluster_axis": 1, **words})


def own(device: int, expert: int) -> list[int]:
    return [t for t in SENT if device * EXPERTS + expert in CHOSEN[t]]


@pytest.fixture(scope="module")
def found(given: dict[str, Tensor]) -> list[Tensor]:
    return computed(given)


def combine_cores(device: MeshDevice) -> list[CoreCoord]:
    """The first rectangle of 3 x 4 without a core of the ring."""
    ring, grid = device.dram_bank_workers(), device.compute_with_storage_grid_size()
    for y, x in np.ndindex(grid.y - 3, grid.x - 2):
        cores = [CoreCoord(x + i % 3, y + i // 3) for i in range(12)]
        if not any(core in ring for core in cores):
            return cores
    raise AssertionError


def test_tables_say_who_goes_where(found: list[Tensor]) -> None:
    counts, lines, lists = found[:3]
    assert (counts.shape, lines.shape, lists.shape) == ((1, 4), (1, TOKENS * 8), (EXPERTS, 4 * (TOKENS + 1)))
    for device in range(2):
        assert shard(counts, device)[0, :EXPERTS].tolist() == [len(own(device, e)) for e in range(EXPERTS)]
        tokens = shard(lists, device).reshape(EXPERTS, TOKENS + 1, 4)[:, :, 0]
        for expert in range(EXPERTS):
            mine = own(device, expert)
            assert tokens[expert, : len(mine) + 1].tolist() == [*mine, END]
        every = [t for t in SENT if (CHOSEN[t] // EXPERTS == device).any()]
        table = shard(lines, device).reshape(TOKENS, 8)
        assert table[: len(every) + 1, 0].tolist() == [*every, END]
        for line, token in zip(table, every, strict=False):
            slots = {
                int(e) - device * EXPERTS: k for k, e in enumerate(CHOSEN[token]) if e // EXPERTS == device
            }
            assert line[1 : 1 + EXPERTS].tolist() == [slots.get(e, CHOICES + 1) for e in range(EXPERTS)]


def test_rows_of_all_experts_lie_in_the_combine_cores(
    mesh: MeshDevice, weights: SimpleNamespace, found: list[Tensor]
) -> None:
    grid = mesh.compute_with_storage_grid_size()
    places = [core.y * grid.x + core.x for core in combine_cores(mesh)]
    assert found[3].layout is Layout.TILE and not shard(found[3], 0).any()
    assert found[4].shape == (grid.x * grid.y, 2, 32, SIZE)
    for device in range(2):
        whole = shard(found[4], device)
        room = whole[places].reshape(4, 3, -1)[:, :, : EXPERTS * 2 * 960].reshape(4, 3, EXPERTS, 2, 960)
        seen = np.zeros(room.shape[:1] + room.shape[2:4], bool)
        for expert in range(EXPERTS):
            mine = own(device, expert)
            shares = [len(mine) // 4 + (h < len(mine) % 4) for h in range(4)]
            held = [(h, row) for h, share in enumerate(shares) for row in range(share)]
            for token, (h, row) in zip(mine, held, strict=True):
                value = weights.wanted[expert, token]
                assert np.allclose(
                    room[h, :, expert, row].reshape(-1), value, rtol=2**-7, atol=1e-4 * np.abs(value).max()
                )
                seen[h, expert, row] = True
        assert not room.swapaxes(1, 2).swapaxes(2, 3)[~seen].any()
        assert np.count_nonzero(whole) == np.count_nonzero(room)


def test_rows_go_back_to_their_tokens(
    mesh: MeshDevice, weights: SimpleNamespace, found: list[Tensor]
) -> None:
    back = call(
        "selective_reduce_combine", found[4], found[1], found[2], found[0], SIZE, TOKENS, 1, CHOICES, 1, Topology.Linear, 1,
        4, 3, combine_cores(mesh), CoreRangeSet([]),
    )  # fmt: skip
    assert back.shape == (CHOICES, TOKENS // 2, SIZE)
    for device, slot, place in np.ndindex(2, CHOICES, TOKENS // 2):
        token = device * (TOKENS // 2) + place
        if token in SENT:
            value = weights.wanted[CHOSEN[token, slot] % EXPERTS, token]
            assert np.allclose(
                shard(back, device)[slot, place], value, rtol=2**-7, atol=1e-4 * np.abs(value).max()
            )


def test_a_run_in_shapes_has_the_same_results(given: dict[str, Tensor], found: list[Tensor]) -> None:
    with shapes.only():
        bare = computed(given)
    for one, other in zip(bare, found, strict=True):
        assert (one.shape, one.dtype, one.layout, one.memory_config()) == (
            other.shape, other.dtype, other.layout, other.memory_config(),
        )  # fmt: skip


def test_what_does_not_fit_is_refused(mesh: MeshDevice, given: dict[str, Tensor]) -> None:
    many: dict[str, object] = {
        "input_tensor": rows(mesh, np.zeros((72, SIZE), np.float32)),
        "expert_indices": rows(mesh, np.tile(CHOSEN, (9, 1)), DataType.UINT16, on_core=True),
        "expert_scores": rows(mesh, np.tile(SCORES, (9, 1)), on_core=True),
    }
    for words, text in (
        ({"cluster_axis": 2}, "out of range for a mesh with 2 axes"),
        ({"w0_w1_tensor": given["w2_tensor"]}, r"w0_w1_tensor .* is not packed for the ring of moe_gpt"),
        ({"w2_tensor": given["w0_w1_tensor"]}, r"w2_tensor .* needs \[12, 1, 3, 2, 2912, 128\]"),
        ({"w2_tensor": given["input_tensor"]}, r"w2_tensor .* is not packed"),
        ({"hidden_size": 2048}, r"\[tokens, 2880\] and hidden_size=2880, not .* and 2048"),
        ({"input_tensor": rows(mesh, WORDS[:, :64])}, r"takes \[tokens, 2880\]"),
        ({"expert_indices": rows(mesh, CHOSEN, DataType.UINT16)}, "expert_indices must be HEIGHT_SHARDED L1"),
        ({"expert_scores": rows(mesh, SCORES)}, "expert_scores must be HEIGHT_SHARDED L1"),
        ({"expert_scores": rows(mesh, SCORES[:4], on_core=True)}, "are not of the 8 tokens"),
        (
            {"expert_indices": rows(mesh, CHOSEN, DataType.UINT32, True)},
            "expert_indices must be uint16 in rows",
        ),
        (
            {"expert_mapping": rows(mesh, OWNERS[:, :2], DataType.UINT16)},
            r"\(experts_total=2\) must be >= experts_per",
        ),
        ({"output_width_shard_dim": 2}, "8 tokens in rows of 2880 do not divide over 4 x 2"),
        ({"output_height_shard_dim": 3}, "do not divide over 3 x 3"),
        ({**many, "output_height_shard_dim": 1}, r"3 experts with 72 rows each do not fit .* room for 192"),
        ({**many, "output_height_shard_dim": 12}, "Could not find a 3x12 combine core range"),
    ):
        with pytest.raises(RuntimeError, match=text):
            computed(given, **words)


def test_another_chip_is_refused(given: dict[str, Tensor]) -> None:
    chip = SimpleNamespace(dram_bank_workers=lambda: [CoreCoord(0, y) for y in range(8)])
    with pytest.raises(
        RuntimeError, match="a ring of 12 cores, one for each DRAM bank, and this chip has 8 banks"
    ):
        _check_weights(chip, (given["w0_w1_tensor"], given["w2_tensor"]))  # type: ignore[arg-type]
