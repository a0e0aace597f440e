"""Parameters of group norms: chunks, masks and grids, and that the norm reads the chunks back."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.tensors import F32, ROW, held, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreGrid
from tt_run.runtime.enums import ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.model_parameters import group_norm
from tt_run.runtime.tensor.model_parameters.containers import make_dot_access_dict

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.mark.parametrize(("channels", "cores", "rows"), [(64, 2, 2), (80, 2, 4), (96, 1, 3), (40, 4, 4)])
def test_chunks_and_back(channels: int, cores: int, rows: int) -> None:
    values = torch.arange(1.0, channels + 1)
    made = group_norm.create_group_norm_weight_bias_rm(values, channels, cores)
    assert tuple(made.shape) == (1, 1, rows, 32)
    assert made.sum() == values.sum()
    back = group_norm.channel_values(made.numpy()[None], channels)
    assert back.tolist() == [values.tolist()]


def test_masks() -> None:
    mask = held(group_norm.create_group_norm_input_mask(96, 4, 2, F32))
    assert mask.shape == (1, 4, 32, 64)  # groups of 24 channels touch two tiles at most
    assert [np.flatnonzero(mask[0, g, 0])[[0, -1]].tolist() for g in range(4)] == [
        [0, 23],
        [24, 47],
        [0, 23],
        [24, 47],
    ]
    other = held(group_norm.create_group_norm_input_negative_mask(96, 4, 2, F32))
    assert np.array_equal(other, 1 - mask)
    low = [
        make(96, 4, 2, F32, 1)
        for make in (
            group_norm.create_group_norm_input_mask,
            group_norm.create_group_norm_input_negative_mask,
        )
    ]
    assert [tuple(one.shape) for one in low] == [(1, 4, 1, 64)] * 2
    assert np.array_equal(held(low[0]), mask[:, :, :1]) and np.array_equal(held(low[1]), other[:, :, :1])
    last = held(group_norm.create_group_norm_input_mask(96, 4, 2, F32, rows_in_last_tile=5))
    assert last.shape == (1, 8, 32, 64)
    assert np.array_equal(last[:, 4:, :5], mask[:, :, :5])
    assert not last[:, 4:, 5:].any()
    for arguments, text in (
        ((96, 5, 1), "96 channels, 5 groups"),
        ((96, 0, 1), "96 channels, 0 groups"),
        ((96, 4, 0), "num_cores_across_channel must be > 0"),
        ((96, 4, 3), r"num_groups \(4\) must be divisible by num_cores_across_channel \(3\)"),
    ):
        with pytest.raises(RuntimeError, match=text):
            group_norm.create_group_norm_input_mask(*arguments)
    for rows in (-1, 32):
        with pytest.raises(
            RuntimeError, match=rf"rows_in_last_tile \({rows}\) must be in \[0, tile_height=32\)"
        ):
            group_norm.create_group_norm_input_mask(96, 4, 2, F32, rows_in_last_tile=rows)


@pytest.mark.parametrize(
    ("channels", "size", "tiles"),
    [(64, 32, 1), (96, 24, 2), (33, 33, 2), (64, 64, 2), (65, 65, 3), (1, 1, 1)],
)
def test_the_most_tiles_that_a_group_touches(channels: int, size: int, tiles: int) -> None:
    assert group_norm.find_max_tile_span(channels, size, 32) == tiles


def test_a_mask_of_one_channel() -> None:
    mask = held(group_norm.create_group_norm_input_mask(1, 1, 1, F32))
    assert mask.shape == (1, 1, 32, 32) and np.flatnonzero(mask[0, 0, 0]).tolist() == [0]
    with pytest.raises(RuntimeError, match="W needs to be greater than 0 and is 0"):
        group_norm.create_group_norm_input_mask(0, 1, 1)


def test_the_norm_reads_chunks(one: MeshDevice) -> None:
    x = np.random.default_rng(1).standard_normal((1, 1, 32, 64)).astype(np.float32)
    weight, bias = torch.rand(64), torch.rand(64)
    chunks = [group_norm.create_group_norm_weight_bias_rm(v, 64, 2).numpy() for v in (weight, bias)]
    found = catalog.find("ttnn.group_norm")(  # type: ignore[misc]
        put(one, x), num_groups=4, epsilon=1e-5, weight=put(one, chunks[0], F32, ROW), bias=put(one, chunks[1], F32, ROW),
        inplace=False,
    )  # fmt: skip
    wanted = torch.nn.functional.group_norm(torch.from_numpy(x[0, 0].T[None]), 4, weight, bias, 1e-5)
    assert np.allclose(held(found)[0, 0], wanted[0].numpy().T, atol=1e-5)


@pytest.mark.parametrize(
    ("most", "channels", "groups", "rows", "images", "wanted"),
    [
        ((8, 8), 480, 2, 1984, 2, (2, 1)),
        ((8, 8), 64, 2, 19008, 3, (6, 6)),
        ((8, 8), 64, 2, 32, 1, (2, 1)),
        ((8, 7), 1472, 368, 14304, 3, (6, 1)),
        ((12, 10), 352, 22, 3328, 4, (11, 8)),
        ((3, 5), 1088, 4, 5920, 1, (2, 5)),
        ((12, 10), 2336, 1, 5696, 2, (2, 1)),
        ((13, 10), 1376, 2, 4992, 3, (13, 6)),
        ((1, 1), 2208, 32, 12192, 3, (1, 1)),
    ],
)
def test_grids_that_share_tiles_evenly(
    most: tuple[int, int], channels: int, groups: int, rows: int, images: int, wanted: tuple[int, int]
) -> None:
    """As the reference library 0.81.1 finds them."""
    found = group_norm.dram_group_norm_grid(CoreGrid(x=most[0], y=most[1]), channels, groups, rows, images)
    assert found is not None
    assert (found.x, found.y) == wanted


def test_on_a_mesh(mesh: MeshDevice) -> None:
    values = torch.arange(1.0, 257.0)
    weight, mask = group_norm.dram_group_norm_params_from_torch(values, 64, 2, mesh, mesh_axis=1)
    for channels, groups in ((64, 0), (48, 2), (64, 5)):
        with pytest.raises(
            RuntimeError, match=f"{channels} must be divisible by 32 and groups_per_device {groups}"
        ):
            group_norm.dram_group_norm_params_from_torch(values, channels, groups, mesh, mesh_axis=1)
    with pytest.raises(RuntimeError, match=r"256 values over 4 devices are not 32 channels each"):
        group_norm.dram_group_norm_params_from_torch(values, 32, 1, mesh, mesh_axis=1)
    alone = group_norm.dram_group_norm_params_from_torch(values, 256, 2, mesh, return_mask=False)
    assert (
        held(alone, 0).reshape(-1).tolist()
        == held(alone, 7).reshape(-1).tolist()
        == values.bfloat16().tolist()
    )
    both = group_norm.dram_group_norm_params_from_torch(
        [values, -values], 128, 2, mesh, mesh_axis=0, return_mask=False
    )
    assert [held(one, 4).reshape(-1)[0] for one in both] == [129, -129]
    assert held(weight, 1).reshape(-1)[0] == 65
    assert tuple(mask.shape) == (1, 2, 32, 32)
    grid = group_norm.determine_expected_group_norm_dram_grid_size(
        device=mesh, num_channels=64, num_groups=2, input_nhw=1024
    )
    assert (grid.x, grid.y) == (8, 8)
    with pytest.raises(
        RuntimeError, match="Could not determine a valid DRAM core grid for channels=48, num_groups=2"
    ):
        group_norm.determine_expected_group_norm_dram_grid_size(
            device=mesh, num_channels=48, num_groups=2, input_nhw=32
        )
    place, _ = group_norm.determine_expected_group_norm_sharded_config_and_grid_size(
        device=mesh, num_channels=64, num_groups=2, input_nhw=1024, is_height_sharded=True
    )
    assert place.shard_spec is not None
    assert place.shard_spec.shape == [32, 64]
    blocks, _ = group_norm.determine_expected_group_norm_sharded_config_and_grid_size(
        device=mesh, num_channels=64, num_groups=2, input_nhw=1024, is_height_sharded=False
    )
    assert blocks.shard_spec is not None and blocks.shard_spec.orientation is ShardOrientation.COL_MAJOR


def test_how_many_cores_share_the_channels() -> None:
    count, grid = group_norm.get_group_norm_cores_across_channel, CoreGrid(x=4, y=2)
    kind, way = TensorMemoryLayout, ShardOrientation
    assert (count(kind.HEIGHT_SHARDED, grid), count(kind.WIDTH_SHARDED, grid)) == (1, 8)
    assert (
        count(kind.BLOCK_SHARDED, grid, way.ROW_MAJOR),
        count(kind.BLOCK_SHARDED, grid, way.COL_MAJOR),
    ) == (4, 2)


def test_dictionaries_with_attributes() -> None:
    made = make_dot_access_dict({"a": {"b": 1}, "c": 2})
    assert (made.a.b, made.c) == (1, 2)
    del made.c
    with pytest.raises(KeyError):
        _ = made.c


@pytest.mark.parametrize(
    ("width", "channels", "groups", "columns"),
    [(8, 64, 2, 2), (8, 96, 4, 1), (1, 64, 2, 1), (3, 256, 8, 2), (8, 48, 3, 0), (8, 256, 8, 8)],
)
def test_columns_that_channels_are_cut_over(width: int, channels: int, groups: int, columns: int) -> None:
    assert group_norm.virtual_columns(width, groups, channels) == columns
    grid = CoreGrid(x=width, y=3)
    assert group_norm.virtual_rows(grid, groups, channels) == (width // columns * 3 if columns else 0)
    if columns:
        assert group_norm.dram_group_norm_virtual_columns(grid, channels, groups) == columns
    else:
        with pytest.raises(
            RuntimeError, match=f"no number of columns up to {width} cuts {channels} channels"
        ):
            group_norm.dram_group_norm_virtual_columns(grid, channels, groups)


@pytest.mark.parametrize(
    ("rows", "tiles", "images", "fits"),
    [
        (1, 1, 1, True),
        (0, 4, 1, False),
        (2, 4, 1, True),
        (3, 4, 1, False),
        (2, 4, 3, True),
        (4, 8, 2, True),
        (4, 8, 3, False),
        (3, 6, 3, True),
    ],
)
def test_rows_that_share_tiles_evenly(rows: int, tiles: int, images: int, fits: bool) -> None:
    assert group_norm.shares_evenly(rows, tiles, images) is fits


def test_values_of_channels_that_are_no_chunks_are_the_first() -> None:
    rows = np.arange(1.0, 101.0).reshape(2, 50)
    assert group_norm.channel_values(rows, 40).tolist() == rows[:, :40].tolist()
    assert group_norm.channel_values(rows, 50).tolist() == rows.tolist()
    chunks = np.zeros((1, 2, 32))
    chunks[0, :, :20] = np.arange(40).reshape(2, 20)
    assert group_norm.channel_values(chunks, 40).tolist() == [list(range(40))]
