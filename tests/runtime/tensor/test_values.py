"""Small values and their texts: enumerations, shapes, memory configurations, placements, configurations (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tt_run.runtime import enums
from tt_run.runtime.cores import CoreCoord, CoreGrid, CoreRange, CoreRangeSet
from tt_run.runtime.enums import (
    BufferType,
    DataType,
    Layout,
    ShardOrientation,
    ShardStrategy,
    TensorMemoryLayout,
    cpp,
)
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.distribution.configs import MeshComposerConfig, MeshMapperConfig
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
    create_sharded_memory_config,
    create_sharded_memory_config_,
)
from tt_run.runtime.tensor.spec.tensor_spec import Shape, TensorSpec, Tile
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard, TensorTopology

TAIL = "nd_shard_spec=std::nullopt,created_with_nd_shard_spec=0,per_core_allocation=0,range_lockstep_allocation=0)"


@pytest.mark.parametrize(("kind", "members"), [
    ("DataType", {"BFLOAT16": 0, "FLOAT32": 1, "UINT32": 2, "BFLOAT8_B": 3, "BFLOAT4_B": 4, "UINT8": 5, "UINT16": 6, "INT32": 7,
                  "FP8_E4M3": 8, "INT8": 9, "INVALID": 10}),
    ("Layout", {"ROW_MAJOR": 0, "TILE": 1, "INVALID": 2}),
    ("StorageType", {"HOST": 0, "DEVICE": 1}),
    ("BufferType", {"DRAM": 0, "L1": 1, "L1_SMALL": 3, "TRACE": 4}),
    ("TensorMemoryLayout", {"INTERLEAVED": 0, "HEIGHT_SHARDED": 2, "WIDTH_SHARDED": 3, "BLOCK_SHARDED": 4, "ND_SHARDED": 5}),
    ("Topology", {"Linear": 1, "Ring": 2, "Mesh": 3, "Torus": 4}),
    ("ReduceType", {"Sum": 0, "Mean": 1, "Max": 2, "Min": 3, "Std": 4, "Var": 5, "Prod": 6}),
    ("MathFidelity", {"LoFi": 0, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4, "Invalid": 255}),
    ("DumpTensorMode", {"DISTRIBUTED_GATHER": 0, "LOCAL": 1}),
])  # fmt: skip
def test_enumerations(kind: str, members: dict[str, int]) -> None:
    found = getattr(enums, kind)
    assert {name: member.value for name, member in found.__members__.items()} == members
    for name, member in found.__members__.items():
        assert str(member) == repr(member) == f"{kind}.{name}"
        assert cpp(member) == f"{kind}::{name}"
        assert int(member) == member.value
        assert {member: 1}[found(member.value)] == 1


def test_shapes_compare_with_sequences() -> None:
    shape = Shape([1, 2, 3])
    assert shape == [1, 2, 3]
    assert shape == (1, 2, 3)
    assert shape == Shape((1, 2, 3))
    assert shape != [1, 2]
    assert (str(shape), shape.rank, len(shape), list(shape), shape[-1]) == (
        "Shape([1, 2, 3])",
        3,
        3,
        [1, 2, 3],
        3,
    )
    assert hash(shape) == hash(Shape([1, 2, 3]))
    assert shape[1:] == [2, 3]


def test_shapes_change_rank() -> None:
    assert Shape([2, 3]).to_rank(4) == [1, 1, 2, 3]
    assert Shape([1, 1, 2, 3]).to_rank(2) == [2, 3]
    assert Shape([2, 3]).to_rank(2) == [2, 3] and Shape([2, 3]).volume() == 6
    for dims in ([2, 3], [2, 1, 3], [0, 3]):
        with pytest.raises(RuntimeError, match="Can't convert shape rank"):
            Shape(dims).to_rank(1)


def test_shape_indices_reach_into_the_padding() -> None:
    assert Shape([2, 3])[-4] == 1
    with pytest.raises(RuntimeError, match=r"ShapeBase\[\] index out of range. 2 not in \[-4, 2\)"):
        _ = Shape([2, 3])[2]
    assert Shape([2, 3])[-2] == 2 and Shape([2, 3, 4, 5, 6])[-5] == 2
    for index in (-5, 2):
        with pytest.raises(RuntimeError, match=rf"{index} not in \[-4, 2\)"):
            _ = Shape([2, 3])[index]
    with pytest.raises(RuntimeError, match=r"-6 not in \[-5, 5\)"):
        _ = Shape([2, 3, 4, 5, 6])[-6]


def test_what_shapes_are_made_of() -> None:
    assert Shape([2**32 - 1, 0]).volume() == 0 and Shape([]) == () and Shape(Shape([2])) == [2]
    for lengths in ([-1], [2**32], [3, -1, 3]):
        with pytest.raises(TypeError, match="a Shape holds lengths from 0 to 4294967295, got"):
            Shape(lengths)
    for wrong in (7, "12", b"12", {0: 1}):
        with pytest.raises(TypeError, match="a Shape is made of a sequence, not of"):
            Shape(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Shape([1.5])  # type: ignore[list-item]
    assert Shape([1, 2]) != 12 and Shape([1, 2]) != [2, 1]


def test_memory_configurations() -> None:
    head = "MemoryConfig(memory_layout=TensorMemoryLayout::"
    assert (
        str(DRAM_MEMORY_CONFIG)
        == f"{head}INTERLEAVED,buffer_type=BufferType::DRAM,shard_spec=std::nullopt,{TAIL}"
    )
    assert DRAM_MEMORY_CONFIG.interleaved
    assert MemoryConfig() == DRAM_MEMORY_CONFIG
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])
    spec = ShardSpec(grid, (32, 32), ShardOrientation.ROW_MAJOR)
    sharded = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, spec)
    assert sharded.is_sharded()
    assert str(sharded) == (
        f'{head}WIDTH_SHARDED,buffer_type=BufferType::L1,shard_spec=ShardSpec{{grid=[{{"start":{{"x":0,"y":0}},'
        f'"end":{{"x":1,"y":0}}], shape=[32, 32], orientation=ShardOrientation::ROW_MAJOR}},{TAIL}'
    )
    assert len({sharded, MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, spec)}) == 1
    assert len({NdShardSpec([1, 32], grid), NdShardSpec([1, 32], grid)}) == 1


@pytest.mark.parametrize(("strategy", "shape"), [
    (ShardStrategy.HEIGHT, [16, 64]), (ShardStrategy.WIDTH, [128, 8]), (ShardStrategy.BLOCK, [64, 16]),
])  # fmt: skip
def test_sharded_memory_configurations(strategy: ShardStrategy, shape: list[int]) -> None:
    config = create_sharded_memory_config((2, 64, 64), CoreGrid(x=4, y=2), strategy)
    assert config.shard_spec is not None
    assert (config.shard_spec.shape, config.shard_spec.num_cores(), config.buffer_type) == (
        shape,
        8,
        BufferType.L1,
    )
    given = create_sharded_memory_config(
        (32, 64), CoreGrid(x=2, y=1), strategy, use_height_and_width_as_shard_shape=True
    )
    assert given.shard_spec is not None
    assert given.shard_spec.shape == [32, 64]


def test_pieces_that_go_down_the_columns_are_given_width_first() -> None:
    def shape(make: Callable[..., MemoryConfig], given: tuple[int, ...]) -> list[int]:
        config = make(
            given,
            CoreGrid(x=2, y=2),
            ShardStrategy.BLOCK,
            ShardOrientation.COL_MAJOR,
            use_height_and_width_as_shard_shape=True,
        )
        assert config.shard_spec is not None
        return config.shard_spec.shape

    assert shape(create_sharded_memory_config, (32, 96)) == [96, 32]
    assert shape(create_sharded_memory_config_, (2, 3, 32, 96)) == [96, 32]


def test_without_an_orientation_pieces_go_along_the_rows() -> None:
    config = create_sharded_memory_config((64, 64), CoreGrid(x=2, y=2), ShardStrategy.BLOCK, None)
    assert config.shard_spec is not None
    assert config.shard_spec.orientation is ShardOrientation.ROW_MAJOR


def test_blocks_lie_on_one_rectangle_of_cores() -> None:
    column = [CoreRange(CoreCoord(x, 0), CoreCoord(x, 1)) for x in (0, 2)]
    with pytest.raises(RuntimeError, match="Invalid CoreRangeSet for block sharding strategy"):
        create_sharded_memory_config_(
            (64, 64), CoreRangeSet(column), ShardStrategy.BLOCK, ShardOrientation.ROW_MAJOR
        )


def test_sharded_memory_configurations_must_divide() -> None:
    with pytest.raises(RuntimeError, match="Invalid sharding core_grid"):
        create_sharded_memory_config((33, 64), CoreGrid(x=2, y=1), ShardStrategy.HEIGHT)
    with pytest.raises(RuntimeError, match=r"CoreRangeSet, not tuple\n.*\nInvalid core_grid type"):
        create_sharded_memory_config((32, 64), (2, 1), ShardStrategy.HEIGHT)  # type: ignore[arg-type]


def test_placements() -> None:
    assert (str(PlacementReplicate()), str(PlacementShard(-1)), PlacementShard(3).dim) == (
        "PlacementReplicate()",
        "PlacementShard(-1)",
        3,
    )
    shard = PlacementShard(1)
    assert shard == shard
    assert shard != PlacementShard(1)
    assert PlacementReplicate() == PlacementReplicate()
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _ = PlacementReplicate() == PlacementShard(0)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        PlacementShard()


def test_topologies_show_three_members() -> None:
    topology = TensorTopology(
        MeshShape([2]), [PlacementShard(0)], [MeshCoordinate(0, 0), MeshCoordinate(0, 1)]
    )
    assert [name for name in dir(topology) if not name.startswith("_")] == [
        "distribution_shape",
        "mesh_coords",
        "placements",
    ]
    assert topology == TensorTopology(MeshShape([2]), [PlacementShard(0)], topology.mesh_coords())
    assert hash(topology) == hash(TensorTopology(MeshShape([2]), [PlacementShard(0)], topology.mesh_coords()))
    assert topology != TensorTopology(MeshShape([2]), [PlacementShard(1)], topology.mesh_coords())


@pytest.mark.parametrize(("arguments", "text"), [
    ({"row_dim": 0}, "placements: [PlacementShard(0), PlacementReplicate()]"),
    ({}, "placements: [PlacementReplicate(), PlacementReplicate()]"),
    ({"placements": [PlacementShard(2)], "mesh_shape_override": MeshShape([2]), "mesh_offset_override": MeshCoordinate([1])},
     "placements: [PlacementShard(2)], mesh_shape_override=MeshShape([2]), mesh_offset_override=MeshCoordinate([1])"),
])  # fmt: skip
def test_mapper_configurations(arguments: dict[str, Any], text: str) -> None:
    assert str(MeshMapperConfig(**arguments)) == f"MeshMapperConfig({text})"


@pytest.mark.parametrize("arguments", [
    {"placements": 3}, {"placements": [3]}, {"row_dim": "a"}, {"dims": [0]}, {"mesh_shape_override": (2, 4)}, {"row_dim": True},
])  # fmt: skip
def test_bad_mapper_configurations(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"__init__\(\): incompatible function arguments"):
        MeshMapperConfig(**arguments)


def test_composer_configurations() -> None:
    assert (
        str(MeshComposerConfig([0, 3], MeshShape(2, 4)))
        == "MeshComposerConfig(dims: [0, 3], mesh_shape_override=MeshShape([2, 4]))"
    )
    assert MeshComposerConfig(0, 1).dims == MeshComposerConfig(row_dim=0, col_dim=1).dims == [0, 1]
    for arguments in ((0,), (), ("a",), ([0], [1])):
        with pytest.raises(TypeError, match=r"__init__\(\): incompatible function arguments"):
            MeshComposerConfig(*arguments)


def test_specs_tell_what_they_are() -> None:
    spec = TensorSpec(Shape([2, 3]), DataType.BFLOAT16, Layout.TILE)
    assert spec == TensorSpec(Shape([2, 3]), DataType.BFLOAT16, Layout.TILE)
    assert spec == TensorSpec([2, 3], DataType.BFLOAT16, Layout.TILE, BufferType.DRAM)
    assert spec == TensorSpec((2, 3), DataType.BFLOAT16, layout=Layout.TILE, buffer_type=BufferType.DRAM)
    assert spec.memory_config == DRAM_MEMORY_CONFIG
    assert TensorSpec((2, 3), DataType.BFLOAT16, Layout.TILE, BufferType.L1).memory_config == L1_MEMORY_CONFIG
    assert spec.padded_shape == [32, 32]
    assert str(spec).startswith("<ttnn._ttnn.tensor.TensorSpec object at 0x")
    assert spec.text().startswith(
        "TensorSpec(logical_shape=Shape([2, 3]),tensor_layout=TensorLayout(dtype=DataType::BFLOAT16,"
    )


GRID = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(3, 1))])


@pytest.mark.parametrize(
    ("made", "layout", "piece"),
    [
        (lambda s: s.height_sharded(GRID), "HEIGHT_SHARDED", [32, 96]),
        (lambda s: s.width_sharded(GRID), "WIDTH_SHARDED", [128, 32]),
        (lambda s: s.block_sharded(GRID), "BLOCK_SHARDED", [64, 32]),
        (lambda s: s.sharded((1, 1, 32, 32), GRID), "ND_SHARDED", [1, 1, 32, 32]),
        (lambda s: s.sharded((1, 1, 33, 32), GRID), "ND_SHARDED", [1, 1, 64, 32]),
        (lambda s: s.sharded_across_dims([1, 2], GRID), "HEIGHT_SHARDED", [32, 96]),
        (lambda s: s.sharded_across_dims_except([3], GRID), "HEIGHT_SHARDED", [32, 96]),
    ],
)
def test_specs_cut_over_cores(made: Any, layout: str, piece: list[int]) -> None:
    memory = made(TensorSpec((1, 2, 64, 96), DataType.BFLOAT16, Layout.TILE)).memory_config
    assert memory.memory_layout.name == layout
    assert (memory.shard_spec or memory.nd_shard_spec.shard_shape) is not None
    assert (memory.shard_spec.shape if memory.shard_spec else memory.nd_shard_spec.shard_shape) == piece
    assert MemoryConfig.from_json(memory.to_json()) == memory


@pytest.mark.parametrize(
    ("shape", "strategy", "tiles", "piece"),
    [
        ([1, 1, 70, 64], ShardStrategy.HEIGHT, True, [18, 64]),
        ([1, 1, 70, 64], ShardStrategy.BLOCK, True, [64, 32]),
        ([1, 1, 70, 64], ShardStrategy.BLOCK, False, [35, 32]),
        ([1, 1, 64, 70], ShardStrategy.WIDTH, True, [64, 18]),
        ([1, 1, 70, 64], ShardStrategy.WIDTH, True, None),
    ],
)
def test_uneven_pieces(
    shape: list[int], strategy: ShardStrategy, tiles: bool, piece: list[int] | None
) -> None:
    def make() -> MemoryConfig:
        grid = CoreGrid(x=2, y=2)
        return create_sharded_memory_config_(
            shape, grid, strategy, ShardOrientation.ROW_MAJOR, tile_layout=tiles
        )

    if piece is None:
        with pytest.raises(RuntimeError, match="Incorrect tensor shape"):
            make()
    else:
        spec = make().shard_spec
        assert spec is not None
        assert spec.shape == piece


@pytest.mark.parametrize(
    ("shape", "faces", "sizes"),
    [((32, 32), ([16, 16], 4, 0, 0), (2048, 1088, 576)), ((16, 32), ([16, 16], 2, 0, 1), (1024, 544, 288))],
)
def test_tiles(shape: tuple[int, int], faces: tuple[Any, ...], sizes: tuple[int, ...]) -> None:
    tile = Tile(shape)
    assert (tile.face_shape, tile.num_faces, tile.narrow_tile, tile.partial_face) == faces
    dtypes = (DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.BFLOAT4_B)
    assert tuple(map(tile.get_tile_size, dtypes)) == sizes


def test_forms_of_a_spec() -> None:
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(3, 0))])
    rows, pieces = ShardSpec(cores, [32, 64], ShardOrientation.ROW_MAJOR), NdShardSpec([1, 32, 32], cores)
    first = ((2, 64, 64), DataType.BFLOAT16, Layout.TILE)
    height = TensorMemoryLayout.HEIGHT_SHARDED
    tile = Tile((16, 32))
    forms = [
        TensorSpec(*first, height, rows, BufferType.L1, tile),
        TensorSpec(*first, memory_layout=height, shard_spec=rows, buffer_type=BufferType.L1, tile=tile),
        TensorSpec(*first, MemoryConfig(height, BufferType.L1, rows), tile),
    ]
    assert forms[0] == forms[1] == forms[2]
    assert forms[0].padded_shape == [2, 64, 64]
    nd = TensorSpec(*first, pieces, BufferType.L1).memory_config
    assert (nd.memory_layout, nd.nd_shard_spec, nd.buffer_type) == (
        TensorMemoryLayout.ND_SHARDED,
        pieces,
        BufferType.L1,
    )
    assert TensorSpec(*first).memory_config is DRAM_MEMORY_CONFIG
    with pytest.raises(TypeError, match="a str says nothing of memory or tile"):
        TensorSpec(*first, "DRAM")


GRID_2X2 = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))])
ROW_OF_4 = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(3, 0))])
TWO_ROWS = CoreRangeSet([CoreRange((0, y), (1, y)) for y in (0, 2)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "piece", "grid", "orientation", "shape", "message"),
    [
        ("HEIGHT", [16, 64], ROW_OF_4, "ROW", (64, 64), r"Physical shard shape (16, 64) must be tile {32, 32} sized!"),
        ("HEIGHT", [32, 64], ROW_OF_4, "ROW", (256, 64), "Number of shards along height 8 must not exceed number of cores 4"),
        ("HEIGHT", [32, 64], ROW_OF_4, "ROW", (128, 32), "Shard width 64 must match physical width 32 for height sharded"),
        ("HEIGHT", [0, 64], ROW_OF_4, "ROW", (128, 64), "Shard shape must be greater than 0 in each sharded dim, got [0, 64]"),
        ("WIDTH", [32, 64], ROW_OF_4, "ROW", (32, 512), "Number of shards along width 8 must not exceed number of cores 4"),
        ("WIDTH", [32, 64], ROW_OF_4, "ROW", (64, 256), "Shard height 32 must match physical height 64 for width sharded"),
        ("BLOCK", [32, 32], GRID_2X2, "ROW", (96, 64), "along height 3 must not exceed number of rows 2 for row major orientation!"),
        ("BLOCK", [32, 32], GRID_2X2, "COL", (96, 64), "along height 3 must not exceed number of columns 2 for column major orientation!"),
        ("BLOCK", [32, 32], GRID_2X2, "ROW", (64, 96), "along width 3 must not exceed number of columns 2 for row major orientation!"),
        ("BLOCK", [32, 32], TWO_ROWS, "ROW", (64, 64), "Shard grid must be one full rectangular grid for block sharded!"),
    ],
)  # fmt: skip
def test_pieces_must_fit_the_tensor_and_the_cores(
    kind: str, piece: list[int], grid: CoreRangeSet, orientation: str, shape: tuple[int, ...], message: str
) -> None:
    spec = ShardSpec(grid, piece, ShardOrientation[f"{orientation}_MAJOR"])
    with pytest.raises(RuntimeError) as error:
        TensorSpec(
            shape, DataType.BFLOAT16, Layout.TILE, TensorMemoryLayout[f"{kind}_SHARDED"], spec, BufferType.L1
        )
    assert str(error.value).endswith(message)


def test_a_tensor_says_its_pieces_in_both_forms() -> None:
    """Reference library 0.81.1: a placed tensor's configuration has both and equals the one that was asked for."""
    memory = MemoryConfig(
        TensorMemoryLayout.HEIGHT_SHARDED,
        BufferType.L1,
        ShardSpec(ROW_OF_4, [32, 64], ShardOrientation.ROW_MAJOR),
    )
    placed = TensorSpec((1, 1, 128, 64), DataType.BFLOAT16, Layout.TILE, memory).memory_config
    assert placed == memory
    assert placed.nd_shard_spec == NdShardSpec([32, 64], ROW_OF_4)
    assert "created_with_nd_shard_spec=0" in str(placed)
    pieces = MemoryConfig(BufferType.L1, NdShardSpec([1, 1, 32, 32], GRID_2X2))  # type: ignore[arg-type]
    by_name = MemoryConfig(buffer_type=BufferType.L1, nd_shard_spec=NdShardSpec([1, 1, 32, 32], GRID_2X2))
    assert by_name == pieces
    assert by_name.memory_layout is TensorMemoryLayout.ND_SHARDED
    assert MemoryConfig(BufferType.L1, nd_shard_spec=pieces.nd_shard_spec) == pieces  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="incompatible function arguments"):
        MemoryConfig(TensorMemoryLayout.ND_SHARDED, BufferType.L1, pieces.nd_shard_spec)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stands beside a buffer_type alone"):
        MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, nd_shard_spec=pieces.nd_shard_spec)
    blocks = TensorSpec((1, 1, 64, 64), DataType.BFLOAT16, Layout.TILE, pieces).memory_config
    assert blocks.memory_layout is TensorMemoryLayout.BLOCK_SHARDED
    assert "created_with_nd_shard_spec=1" in str(blocks)
