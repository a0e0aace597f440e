"""Joining tensors of several layouts and types, as recorded from the reference library 0.81.1."""

from __future__ import annotations

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, held, put
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec

KINDS = {
    "T8": (BFP8, TILE),
    "T4": (DataType.BFLOAT4_B, TILE),
    "T16": (BF16, TILE),
    "T32": (F32, TILE),
    "Ti": (I32, TILE),
}
KINDS |= {"R16": (BF16, ROW), "R32": (F32, ROW), "Ri": (I32, ROW)}
APART, TYPES = "expected all input tensors to be in tile layout", "All Tensors should have same dtypes."

RESULTS = [
    # Rows beside tiles: the first's layout, or rows where some fill no tiles.
    ("T16 R16", (64, 64), 2, "T16"),
    ("R16 T16", (64, 64), 2, "R16"),
    ("R16 T16 T8", (64, 64), 3, "R16"),
    ("R16 T8", (64, 64), 3, "R16"),
    ("T16 R16", (64, 40), 2, "R16"),
    ("T8 R16 T16", (64, 40), 2, "R16"),
    ("Ti Ri", (64, 40), 0, "Ri"),
    ("Ri Ti", (64, 64), 0, "Ri"),
    ("T32 R32", (64, 64), 0, "T32"),
    # Padding along the dimension.
    ("T8 T8", (64, 40), 3, "T16"),
    ("T8 T16", (64, 40), 3, "T16"),
    ("T16 T8", (40, 64), 2, "T16"),
    ("T8 T8", (64, 40), 2, "T8"),
    # Refused.
    ("T8 T16", (64, 64), 3, TYPES),
    ("T8 R16", (64, 64), 3, TYPES),
    ("T16 T8", (64, 40), 3, TYPES),
    ("R16 R32", (64, 64), 3, TYPES),
    ("T8 R16", (40, 64), 2, APART),
    ("R16 T16", (64, 40), 3, APART),
    ("R16 T4", (64, 64), 3, "Only TILE layout is supported for BFLOAT8_B dtype!"),
]


@pytest.mark.parametrize(("kinds", "rows", "axis", "expected"), RESULTS)
def test_parts_of_several_kinds(
    one: MeshDevice, kinds: str, rows: tuple[int, int], axis: int, expected: str
) -> None:
    values = [
        np.arange(np.prod(rows), dtype=np.float32).reshape(1, 1, *rows) % (7 + n)
        for n, _ in enumerate(kinds.split())
    ]
    parts = [put(one, each, *KINDS[kind]) for each, kind in zip(values, kinds.split(), strict=True)]
    if expected not in KINDS:
        with pytest.raises(RuntimeError, match=expected):
            ops.concat(parts, axis)
        return
    result = ops.concat(parts, axis)
    kind: tuple[DataType, Layout] = (result.dtype, result.layout)
    assert kind == KINDS[expected]
    assert np.array_equal(held(result), np.concatenate(values, axis))


def test_block_floats_on_cores_with_padding_along_the_dimension(one: MeshDevice) -> None:
    """They leave their tiles, as those that are on no cores do."""
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])

    def by_rows(wide: int) -> MemoryConfig:
        spec = ShardSpec(grid, [32, wide], ShardOrientation.ROW_MAJOR)
        return MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, spec)

    for width, dtype in ((48, DataType.BFLOAT16), (64, DataType.BFLOAT8_B)):
        x = ops.to_memory_config(put(one, np.ones((1, 1, 64, width)), *KINDS["T8"]), by_rows(64))
        for place in (None, by_rows(2 * width)):
            assert ops.concat([x, x], -1, memory_config=place).dtype is dtype


@pytest.mark.parametrize(
    ("layout", "widths", "groups", "refused"),
    [
        (TILE, (32, 64), 2, None),
        (TILE, (32, 64), 4, r"Group size must be at least 16 for input0 \(was 8\)"),
        (TILE, (64, 32), 4, r"Group size must be at least 16 for input1 \(was 8\)"),
        (TILE, (32, 64), 3, r"Input tensor 0 columns must be evenly divisible by groups \(W=32, groups=3\)"),
        (ROW, (32, 64), 4, None),
        (ROW, (32, 64), 5, r"Input tensor 0 columns must be evenly divisible by groups \(W=32, groups=5\)"),
    ],
)
def test_groups_on_cores(
    one: MeshDevice, layout: Layout, widths: tuple[int, int], groups: int, refused: str | None
) -> None:
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))])
    values = [np.arange(64 * width).reshape(1, 1, 64, width) % 61 for width in widths]
    places = [
        MemoryConfig(
            TensorMemoryLayout.HEIGHT_SHARDED,
            BufferType.L1,
            ShardSpec(grid, [64, width], ShardOrientation.ROW_MAJOR),
        )
        for width in (*widths, sum(widths))
    ]
    parts = [
        ops.to_memory_config(put(one, each, BF16, layout), place)
        for each, place in zip(values, places, strict=False)
    ]
    if refused:
        with pytest.raises(RuntimeError, match=refused):
            ops.concat(parts, 3, memory_config=places[-1], groups=groups)
        return
    pieces = [np.split(each, groups, axis=3) for each in values]
    wanted = np.concatenate([piece[group] for group in range(groups) for piece in pieces], axis=3)
    assert np.array_equal(held(ops.concat(parts, 3, memory_config=places[-1], groups=groups)), wanted)


def _cut(kind: TensorMemoryLayout, cores: tuple[int, int], piece: tuple[int, int]) -> MemoryConfig:
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(cores[0] - 1, cores[1] - 1))])
    return MemoryConfig(kind, BufferType.L1, ShardSpec(grid, list(piece), ShardOrientation.ROW_MAJOR))


ALIGNED = "requires aligned last dim when concatting on last dim"
ENTRY = (
    r"DFB 's2s_rm_input_{}' \(entry_size 64 \* num_entries 32 = 2048 bytes\) is larger than .* \(1536 bytes\)"
)


@pytest.mark.parametrize(
    ("kind", "dtype", "widths", "refused"),
    [
        ("W", BF16, (24, 24), ALIGNED),
        ("W", BF16, (16, 8), ALIGNED),
        ("W", BF16, (32, 16), None),
        ("W", BF16, (12, 12), None),
        ("W", F32, (8, 24), None),
        ("W", F32, (12, 12), ALIGNED),
        ("H", BF16, (24, 24), ENTRY.format(0)),
        ("H", BF16, (16, 24), ENTRY.format(1)),
        ("H", BF16, (20, 20), None),
        ("H", F32, (24, 8), None),
        ("B", BF16, (20, 20), r"input 1 starts at column 20 \(40 bytes\), not L1-aligned \(16 bytes\)"),
        ("B", BF16, (16, 20), None),
        ("B", BF16, (24, 16), None),
    ],
)
def test_rows_on_cores_side_by_side(
    one: MeshDevice, kind: str, dtype: DataType, widths: tuple[int, int], refused: str | None
) -> None:
    values = [np.arange(64 * width).reshape(1, 1, 64, width) % 61 for width in widths]

    def placed(width: int) -> MemoryConfig:
        if kind == "W":
            return _cut(TensorMemoryLayout.WIDTH_SHARDED, (2, 1), (64, width // 2))
        if kind == "H":
            return _cut(TensorMemoryLayout.HEIGHT_SHARDED, (2, 1), (32, width))
        return _cut(TensorMemoryLayout.BLOCK_SHARDED, (2, 2), (32, -(-width // 16) * 8))

    parts = [
        ops.to_memory_config(put(one, each, dtype, ROW), placed(width))
        for each, width in zip(values, widths, strict=True)
    ]
    if refused:
        with pytest.raises(RuntimeError, match=refused):
            ops.concat(parts, -1)
    else:
        assert np.array_equal(held(ops.concat(parts, -1)), np.concatenate(values, -1))
    # Below each other, and where none is on a core, they fit.
    assert held(ops.concat([parts[0], parts[0]], -2)).shape == (1, 1, 128, widths[0])
    spread = [put(one, each, dtype, ROW) for each in values]
    assert np.array_equal(held(ops.concat(spread, -1)), np.concatenate(values, -1))
