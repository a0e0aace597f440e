"""Memory configurations: forms, what they keep, their JSON, equality, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tt_run.runtime.cores import CoreCoord, CoreGrid, CoreRange, CoreRangeSet
from tt_run.runtime.enums import (
    BufferType,
    ShardDistributionStrategy,
    ShardOrientation,
    ShardStrategy,
    TensorMemoryLayout,
)
from tt_run.runtime.tensor.spec.memory_config import (
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
    create_sharded_memory_config,
    create_sharded_memory_config_,
    memory_of,
)

ROW, COL = ShardOrientation.ROW_MAJOR, ShardOrientation.COL_MAJOR
HEIGHT, WIDTH, BLOCK = ShardStrategy.HEIGHT, ShardStrategy.WIDTH, ShardStrategy.BLOCK
GRID = CoreRangeSet([CoreRange(CoreCoord(1, 0), CoreCoord(3, 1))])
MATRIX = ShardSpec(GRID, [32, 64], COL)
PIECES = NdShardSpec([1, 32, 64], GRID, COL, ShardDistributionStrategy.GRID_2D)
SHARDED = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, MATRIX)


@pytest.mark.parametrize(
    "config",
    [
        MemoryConfig(),
        MemoryConfig(buffer_type=BufferType.L1),
        SHARDED,
        MemoryConfig(BufferType.L1, PIECES),
        memory_of(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, MATRIX, PIECES, made_of_any_rank=True),
        memory_of(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, MATRIX, PIECES, made_of_any_rank=False),
    ],
)
def test_its_json_tells_all_of_it(config: MemoryConfig) -> None:
    again = MemoryConfig.from_json(config.to_json())
    assert (again, str(again), hash(again)) == (config, str(config), hash(config))
    assert again.created_with_nd_shard_spec == config.created_with_nd_shard_spec
    assert json.loads(again.to_json()) == json.loads(config.to_json())


def test_the_json_of_specifications() -> None:
    assert (
        ShardSpec.from_json(MATRIX.to_json()) == MATRIX and NdShardSpec.from_json(PIECES.to_json()) == PIECES
    )
    assert (MATRIX.num_cores(), PIECES.num_cores()) == (6, 6)
    assert str(PIECES) == (
        '{"shard_shape":[1, 32, 64],"grid":[{"start":{"x":1,"y":0},"end":{"x":3,"y":1}}],'
        '"orientation":"ShardOrientation::COL_MAJOR","shard_distribution_strategy":"ShardDistributionStrategy::GRID_2D"}'
    )
    plain = NdShardSpec([32], GRID)
    assert (plain.orientation, plain.shard_distribution_strategy) == (
        ROW,
        ShardDistributionStrategy.ROUND_ROBIN_1D,
    )


def test_pieces_of_any_rank_stand_beside_a_kind_of_memory_alone() -> None:
    forms = (
        MemoryConfig(BufferType.L1, PIECES),
        MemoryConfig(buffer_type=BufferType.L1, nd_shard_spec=PIECES),
        MemoryConfig(BufferType.L1, nd_shard_spec=PIECES),  # type: ignore[arg-type]
    )
    for found in forms:
        assert found == forms[0] and found.created_with_nd_shard_spec
        assert (found.memory_layout, found.buffer_type) == (TensorMemoryLayout.ND_SHARDED, BufferType.L1)
        assert found.is_sharded() and not found.nameless and not found.interleaved
    for wrong in (
        lambda: MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, nd_shard_spec=PIECES),
        lambda: MemoryConfig(BufferType.L1, BufferType.L1, MATRIX, PIECES),  # type: ignore[arg-type]
        lambda: MemoryConfig(nd_shard_spec=3),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="nd_shard_spec stands beside a buffer_type alone"):
            wrong()
    for wrong in (lambda: MemoryConfig(3), lambda: MemoryConfig(buffer_type="L1")):  # type: ignore[arg-type]
        with pytest.raises(
            TypeError, match=r"MemoryConfig needs a ttnn.TensorMemoryLayout and a ttnn.BufferType"
        ):
            wrong()
    with pytest.raises(TypeError, match=r"shard_spec is a ttnn.ShardSpec, got 3"):
        MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"ShardSpec\(\): a shape of \[height, width\]"):
        ShardSpec(GRID, [1, 32, 64], ROW)


def test_equal_ones_have_the_same_place_and_pieces() -> None:
    same = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, ShardSpec(GRID, [32, 64], COL))
    assert same == SHARDED and hash(same) == hash(SHARDED)
    for other in (
        MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, MATRIX),
        MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.DRAM, MATRIX),
        MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, ShardSpec(GRID, [32, 32], COL)),
        MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1),
        MemoryConfig(BufferType.L1, PIECES),
        "a configuration",
    ):
        assert other != SHARDED
    any_rank = memory_of(
        TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, MATRIX, PIECES, made_of_any_rank=True
    )
    other_pieces = NdShardSpec([1, 32, 32], GRID)
    elsewhere = memory_of(
        TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, MATRIX, other_pieces, made_of_any_rank=True
    )
    assert any_rank != SHARDED and any_rank != elsewhere
    both = memory_of(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, MATRIX, PIECES, made_of_any_rank=False)
    assert both == SHARDED and hash(both) == hash(SHARDED)
    assert both == any_rank and hash(both) == hash(any_rank)  # of the same pieces of any rank


def test_it_keeps_what_it_was_made_of() -> None:
    spec = ShardSpec(GRID, [32, 64], COL)
    config = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, spec)
    spec.orientation = ROW
    assert config == SHARDED


@pytest.mark.parametrize("name", ["per_core_allocation", "range_lockstep_allocation"])
def test_addresses_of_their_own_are_of_l1(name: str) -> None:
    config = MemoryConfig(buffer_type=BufferType.L1)
    getattr(config, f"experimental_set_{name}")(True)
    assert getattr(config, name) is True and f"{name}=1" in str(config)
    assert config != MemoryConfig(buffer_type=BufferType.L1)
    dram = MemoryConfig()
    getattr(dram, f"experimental_set_{name}")(False)
    assert dram == MemoryConfig()
    with pytest.raises(RuntimeError, match=f"{name} is only supported for L1 buffers"):
        getattr(dram, f"experimental_set_{name}")(True)


@pytest.mark.parametrize(
    ("words", "options", "text"),
    [
        ((7, CoreGrid(x=2, y=1), HEIGHT), {}, "Invalid input shape"),
        (((64, 64), CoreGrid(x=2, y=1), "HEIGHT"), {}, "Invalid sharding strategy"),
        (((64, 64), CoreGrid(x=2, y=1), HEIGHT, 1), {}, "Invalid shard orientation"),
        (((64, 64), GRID, HEIGHT), {}, "height and width must be shard shape with CoreRangeSet"),
        (((2, 33, 64), CoreGrid(x=4, y=1), HEIGHT), {}, "66x64 elements do not divide over 4x1 cores"),
        (((64, 63), CoreGrid(x=2, y=1), WIDTH), {}, "64x63 elements do not divide over 1x2 cores"),
        (((63, 64), CoreGrid(x=4, y=2), BLOCK), {}, "63x64 elements do not divide over 2x4 cores"),
        (((64, 62), CoreGrid(x=4, y=2), BLOCK), {}, "64x62 elements do not divide over 2x4 cores"),
        (((62, 64), CoreGrid(x=4, y=2), BLOCK, COL), {}, "62x64 elements do not divide over 4x2 cores"),
    ],
)
def test_what_is_no_cut(words: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(RuntimeError) as refused:
        create_sharded_memory_config(*words, **options)
    assert text in str(refused.value)


@pytest.mark.parametrize(
    ("shape", "grid", "strategy", "options", "piece"),
    [
        ((2, 33, 100), CoreGrid(x=4, y=1), HEIGHT, {}, [17, 100]),
        ((2, 33, 100), CoreGrid(x=3, y=1), WIDTH, {}, [66, 34]),
        ((2, 33, 100), CoreGrid(x=3, y=2), BLOCK, {}, [33, 34]),
        (
            (2, 33, 100),
            CoreRange(CoreCoord(0, 0), CoreCoord(2, 1)),
            TensorMemoryLayout.BLOCK_SHARDED,
            {},
            [33, 34],
        ),
        ((2, 33, 100), CoreGrid(x=3, y=2), BLOCK, {"orientation": COL}, [22, 50]),
        ((2, 96, 64), CoreGrid(x=2, y=2), BLOCK, {"tile_layout": True}, [96, 32]),
        ((100, 64), CoreGrid(x=2, y=2), BLOCK, {"tile_layout": True}, [64, 32]),
        ((100, 64), CoreGrid(x=4, y=1), HEIGHT, {"tile_layout": True}, [25, 64]),
    ],
)
def test_a_piece_is_rounded_up(
    shape: Any, grid: Any, strategy: Any, options: dict[str, Any], piece: list[int]
) -> None:
    options = {"orientation": ROW, **options}
    config = create_sharded_memory_config_(shape, grid, strategy, **options)
    assert config.shard_spec is not None and config.buffer_type is BufferType.L1
    assert config.shard_spec.shape == piece
    kind = (
        strategy
        if isinstance(strategy, TensorMemoryLayout)
        else TensorMemoryLayout[f"{strategy.name}_SHARDED"]
    )
    assert config.memory_layout is kind


@pytest.mark.parametrize(("shape", "strategy", "length"), [((64, 65), HEIGHT, 65), ((33, 2, 64), WIDTH, 66)])
def test_what_is_not_cut_is_whole_tiles(shape: Any, strategy: ShardStrategy, length: int) -> None:
    with pytest.raises(RuntimeError, match=f"{length} elements are not whole tiles of 32"):
        create_sharded_memory_config_(shape, CoreGrid(x=2, y=1), strategy, ROW, tile_layout=True)
    with pytest.raises(TypeError, match="core_grid must be a CoreGrid, CoreRange or CoreRangeSet, got int"):
        create_sharded_memory_config_(shape, 3, strategy, ROW)  # type: ignore[arg-type]
