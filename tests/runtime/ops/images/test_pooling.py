"""Pools, resampling and folding against PyTorch in float64."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.golden import compare
from tests.runtime.ops.images.test_convolutions import call, host, images, sample, wide
from tests.runtime.ops.tensors import BF16, F32, ROW, TILE, held, put
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice, MeshShape, close_mesh_device, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.conversion.devices import to_device
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
F = torch.nn.functional
SIZES = (2, 9, 12, 8)  # batch, height, width, channels


def planes(dtype: DataType = BF16) -> np.ndarray:
    n, h, w, c = SIZES
    return sample((n, c, h, w), 1, dtype)


def padded(x: np.ndarray, pads: tuple[int, int, int, int], value: float) -> Any:
    top, bottom, left, right = pads
    return F.pad(wide(x), (left, right, top, bottom), value=value)


WINDOWS = [
    ((2, 2), (2, 2), (0, 0), False),
    ((3, 3), (2, 2), (1, 1), False),
    ((3, 2), (1, 2), (1, 0), False),
    ((3, 3), (2, 2), (1, 1), True),
    ((3, 3), (2, 2), (0, 1, 1, 0), False),
]


@pytest.mark.parametrize(("kernel", "stride", "padding", "ceil"), WINDOWS)
def test_max_pool(one: MeshDevice, kernel: Any, stride: Any, padding: Any, ceil: bool) -> None:
    x = planes()
    found, places = call(
        "max_pool2d", put(one, images(x), BF16, ROW), *SIZES, kernel, stride, padding, (1, 1), ceil, return_indices=True
    )  # fmt: skip
    if len(padding) == 4:
        golden, where = F.max_pool2d(padded(x, padding, -np.inf), kernel, stride, return_indices=True)
        width = SIZES[2] + padding[2] + padding[3]
        where = (where // width - padding[0]) * SIZES[2] + where % width - padding[2]
    else:
        golden, where = F.max_pool2d(wide(x), kernel, stride, padding, ceil_mode=ceil, return_indices=True)
    compare(found, images(golden.numpy()), 1)
    np.testing.assert_array_equal(held(places), images(where.numpy()))


@pytest.mark.parametrize("count", [True, False])
@pytest.mark.parametrize(("kernel", "stride", "padding", "ceil"), WINDOWS)
def test_avg_pool(one: MeshDevice, kernel: Any, stride: Any, padding: Any, ceil: bool, count: bool) -> None:
    x = planes()
    found = call("avg_pool2d", put(one, images(x), BF16, ROW), *SIZES, kernel, stride, padding, ceil, count)
    if len(padding) == 4:
        ones = padded(np.ones_like(x), padding, 0)
        total, inside = (
            F.avg_pool2d(v, kernel, stride, divisor_override=1) for v in (padded(x, padding, 0), ones)
        )
        golden = total / (kernel[0] * kernel[1] if count else inside)
    else:
        golden = F.avg_pool2d(wide(x), kernel, stride, padding, ceil, count)
    compare(found, images(golden.numpy()), 8)


@pytest.mark.parametrize(
    ("padding", "kernel", "rows", "columns"),
    [((0, 1, 1, 0), 2, 3, 4), ((1, 0, 0, 1), 2, 4, 3), ((0, 1, 0, 1), 2, 3, 3), ((0, 1, 1, 0), 3, 2, 3)],
)
def test_no_window_begins_in_a_border_behind_the_image(
    one: MeshDevice, padding: tuple[int, ...], kernel: int, rows: int, columns: int
) -> None:
    x = sample((1, 4, 6, 6), 1, BF16)
    window = [1, 6, 6, 4, (kernel,) * 2, (kernel,) * 2, padding]
    for name, fill, rest, pool in (
        ("max_pool2d", -np.inf, ((1, 1), True), F.max_pool2d),
        ("avg_pool2d", 0, (True,), F.avg_pool2d),
    ):
        found = call(name, put(one, images(x), BF16, ROW), *window, *rest)
        golden = pool(padded(x, padding, fill), kernel, kernel, ceil_mode=True)[..., :rows, :columns]
        compare(found, images(golden.numpy()), 8)


def test_the_largest_of_numbers_without_a_sign(one: MeshDevice) -> None:
    x = np.arange(64, dtype=np.uint32).reshape(1, 1, 16, 4)
    found = call("max_pool2d", put(one, x, DataType.UINT32, ROW), 1, 4, 4, 4, (2, 2), (2, 2), (0, 0), (1, 1))
    assert held(found)[0, 0, :, 0].tolist() == [20, 28, 52, 60]


def test_divisor_and_dtype(one: MeshDevice) -> None:
    x = planes(BF16)
    found = call(
        "avg_pool2d", put(one, images(x), BF16, ROW), *SIZES, (3, 3), (1, 1), (0, 0), divisor_override=5
    )
    assert (found.dtype, found.layout) == (BF16, ROW)
    compare(found, images(F.avg_pool2d(wide(x), 3, 1, divisor_override=5).numpy()), 2)


@pytest.mark.parametrize("kind", ["avg", "max"])
def test_adaptive_pools(one: MeshDevice, kind: str) -> None:
    x = planes()
    for size in ((4, 4), (3, 12), (1, 1), (9, 2)):
        found = call(f"adaptive_{kind}_pool2d", put(one, images(x), BF16, ROW), *SIZES, size)
        golden = getattr(F, f"adaptive_{kind}_pool2d")(wide(x), size)
        compare(found, images(golden.numpy()), 8)


@pytest.mark.parametrize("kind", ["avg", "max"])
def test_adaptive_pools_whose_borders_are_narrower(one: MeshDevice, kind: str) -> None:
    """8 become 3, 4 and 3: a window of 4 in steps of 3, with a border of 1."""
    x = sample((1, 32, 8, 8), 1)
    found = call(f"adaptive_{kind}_pool2d", put(one, images(x), BF16, ROW), 1, 8, 8, 32, (3, 3))
    compare(found, images(getattr(F, f"adaptive_{kind}_pool2d")(wide(x), (3, 3)).numpy()), 8)


@pytest.mark.parametrize(("image", "size", "message"), [
    ((6, 6), (4, 4), r"kernel=\[2,2\], stride=\[1,1\], padding=\[0,0,0,0\]\) do not produce uniform pooling behavior"),
    ((19, 19), (7, 7), r"Height kernel pattern \[3,4,4,3,4,4,3\] - middle elements not uniform"),
    ((12, 23), (4, 14), r"Width kernel pattern \[2,3,2,3,3,2,3,3,2,3,3,2,3,2\]"),
])  # fmt: skip
def test_adaptive_pools_without_windows_of_one_size(
    one: MeshDevice, image: tuple[int, int], size: tuple[int, int], message: str
) -> None:
    x = put(one, sample((1, 1, image[0] * image[1], 32), 1), BF16, ROW)
    for kind in ("avg", "max"):
        with pytest.raises(RuntimeError, match=message):
            call(f"adaptive_{kind}_pool2d", x, 1, *image, 32, size)


@pytest.mark.parametrize(("kernel", "stride", "padding", "message"), [
    ((0, 1), (1, 1), (0, 0), r"Kernel size must be greater than 0 in both dimensions, got \(0, 1\)"),
    ((2, 2), (0, 1), (0, 0), r"stride must be greater than 0, got \(0, 1\)"),
    ((3, 3), (1, 1), (2, 2), r"should not exceed half of kernel size \(3, 3\)"),
])  # fmt: skip
def test_windows_are_refused(one: MeshDevice, kernel: Any, stride: Any, padding: Any, message: str) -> None:
    x = put(one, images(planes()), BF16, ROW)
    for call_it in (
        lambda: call("max_pool2d", x, *SIZES, kernel, stride, padding, (1, 1)),
        lambda: call("avg_pool2d", x, *SIZES, kernel, stride, padding),
    ):
        with pytest.raises(RuntimeError, match=message):
            call_it()


def test_global_mean(one: MeshDevice) -> None:
    x = planes(F32).transpose(0, 2, 3, 1)
    compare(call("global_avg_pool2d", put(one, x)), x.astype(np.float64).mean((1, 2), keepdims=True), 8)
    with pytest.raises(RuntimeError, match=r"supported for generic reduction .* got DataType::BFLOAT4_B"):
        call("global_avg_pool2d", put(one, x, DataType.BFLOAT4_B))
    alone = call("global_avg_pool2d", put(one, x[0]))
    compare(alone, x[:1].astype(np.float64).mean((1, 2), keepdims=True), 8)
    with pytest.raises(RuntimeError, match="expects rank 2, 3, or 4 input, got rank 5"):
        call("global_avg_pool2d", put(one, x[None]))


@pytest.mark.parametrize(
    ("factor", "mode"),
    [(2, "nearest"), (2, "bilinear"), ((2, 3), "nearest"), ((2, 3), "bilinear"), (1.5, "nearest")],
)
def test_upsample(one: MeshDevice, factor: Any, mode: str) -> None:
    x = np.tile(planes(), (1, 4, 1, 1))
    dtype = F32 if mode == "nearest" else BF16
    found = call("upsample", put(one, x.transpose(0, 2, 3, 1), dtype, ROW), factor, mode=mode)
    golden = F.interpolate(wide(x), scale_factor=factor, mode=mode).numpy()
    # A sum of four in float32 falls to either side of the middle between two bfloat16.
    np.testing.assert_allclose(held(found), golden.transpose(0, 2, 3, 1), rtol=2**-7, atol=2**-9)


@pytest.mark.parametrize(("shape", "dtype", "layout", "words", "message"), [
    ((1, 4, 4, 32), F32, ROW, {"scale_factor": 2, "mode": "bilinear"}, "requires BFLOAT16"),
    ((1, 4, 4, 16), BF16, ROW, {"scale_factor": 2, "mode": "bilinear"}, "divisible by 32"),
    ((1, 32, 32, 32), BF16, TILE, {"scale_factor": 2, "mode": "bilinear"}, "Unsupported upsample configuration"),
    ((1, 32, 32, 32), BF16, TILE, {"scale_factor": 1.5}, "Unsupported upsample configuration"),
])  # fmt: skip
def test_images_that_are_not_enlarged(
    one: MeshDevice, shape: Any, dtype: DataType, layout: Any, words: dict[str, Any], message: str
) -> None:
    with pytest.raises(RuntimeError, match=message):
        call("upsample", put(one, np.ones(shape), dtype, layout), **words)


@pytest.mark.parametrize("collapse", [True, False])
def test_fold(one: MeshDevice, collapse: bool) -> None:
    x = sample((2, 8, 12, 4), 1)
    found = call("fold", put(one, x, F32, ROW), 2, 3, collapse_output=collapse)
    golden = x.reshape(2, 4, 2, 4, 3, 4).transpose(0, 1, 3, 2, 4, 5).reshape(2, 4, 4, 24)
    compare(found, golden.reshape(1, 1, 32, 24) if collapse else golden, 0)
    with pytest.raises(RuntimeError, match=r"logical H \(8\) must be divisible by stride_h \(5\)"):
        call("fold", put(one, x, F32, ROW), 5, 3)


def test_fold_of_turned_images(one: MeshDevice) -> None:
    x = sample((2, 8, 12, 4), 1)
    golden = x.reshape(2, 4, 2, 3, 4, 4).transpose(0, 1, 3, 2, 4, 5).reshape(2, 4, 3, 32)
    turned = put(one, x.transpose(0, 3, 1, 2), F32, ROW)
    compare(call("fold", turned, 2, 4, True, golden.shape), golden, 0)
    whole = held(call("fold", turned, 2, 4, True))  # with what fills tiles
    assert whole.shape == (2, 16, 8, 32)
    assert np.array_equal(whole[:, :4, :3], golden) and not whole[:, 4:].any()
    with pytest.raises(RuntimeError, match="does not support front padding"):
        call("fold", put(one, x, BF16, TILE), 2, 2, padding=[1, 1, 1, 1])


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("align", [True, False])
def test_grid_sample(one: MeshDevice, align: bool, together: bool) -> None:
    x = np.tile(planes(), (1, 4, 1, 1))
    grid = np.random.default_rng(2).uniform(-1.2, 1.2, (2, 4, 5, 4)).astype(np.float32)
    found = call(
        "grid_sample", put(one, x.transpose(0, 2, 3, 1), F32, ROW), put(one, grid, F32, ROW), align_corners=align,
        batch_output_channels=together,
    )  # fmt: skip
    golden = (
        F.grid_sample(wide(x), wide(grid.reshape(2, 4, 10, 2)), align_corners=align)
        .numpy()
        .transpose(0, 2, 3, 1)
    )
    compare(found, golden.reshape(2, 4, 5, 64) if together else golden, 64)
    with pytest.raises(RuntimeError, match="precomputed grid must be BFLOAT16"):
        call(
            "grid_sample", put(one, images(x), F32, ROW), put(one, grid, F32, ROW), use_precomputed_grid=True
        )


@pytest.mark.parametrize(("channels", "layout", "words", "message"), [
    (32, ROW, {"padding_mode": "border"}, "Only zeros padding mode is currently supported"),
    (32, TILE, {}, "Input tensor must be ROW_MAJOR layout"),
    (32, ROW, {"mode": "nearest"}, "use_precomputed_grid = false is not supported with mode = 'nearest'"),
    (31, ROW, {}, "Input tensor last dimension must be divisible by TILE_WIDTH"),
])  # fmt: skip
def test_what_a_grid_cannot_read(
    one: MeshDevice, channels: int, layout: Any, words: dict[str, Any], message: str
) -> None:
    x, grid = sample((1, 8, 8, channels), 1), np.zeros((1, 6, 6, 2), np.float32)
    with pytest.raises(RuntimeError, match=message):
        call("grid_sample", put(one, x, F32, layout), put(one, grid, F32, ROW), **words)


def test_goldens_of_pools_agree_with_the_operations(one: MeshDevice):
    image = torch.randn(2, 6, 5, 8).bfloat16().float()
    flat, size = image.reshape(1, 1, 60, 8), {"batch_size": 2, "input_h": 6, "input_w": 5, "channels": 8}
    window = {"kernel_size": [3, 2], "stride": [2, 1], "padding": [1, 1]}
    calls = [
        (ops.max_pool2d, flat, size | window | {"dilation": [1, 1]}),
        (ops.max_pool2d, flat, size | window | {"dilation": [1, 1], "padding": [1, 0, 1, 1]}),
        (ops.avg_pool2d, flat, size | window | {"ceil_mode": True}),
        (ops.avg_pool2d, flat, size | window | {"padding": [1, 0, 0, 1]}),
        (ops.upsample, image, {"scale_factor": 2}),
    ]
    for operation, given, keywords in calls:
        wanted = operation.golden_function(given, **keywords)
        found = operation(
            put(one, given.numpy(), F32 if operation is ops.upsample else BF16, ROW), **keywords
        )
        # A pool rounds to bfloat16 unless it is told otherwise.
        np.testing.assert_allclose(held(found).reshape(wanted.shape), wanted.numpy(), rtol=2**-8, atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("align", [True, False])
def test_a_prepared_grid_reads_the_same_places(one: MeshDevice, align: bool, mode: str) -> None:
    x = np.tile(planes(), (1, 4, 1, 1)).transpose(0, 2, 3, 1)
    grid = np.random.default_rng(2).uniform(-1.2, 1.2, (2, 4, 6, 2)).astype(np.float32)
    made = call("prepare_grid_sample_grid", host(grid), list(x.shape), mode=mode, align_corners=align)
    found = call(
        "grid_sample", put(one, x, F32, ROW), to_device(made, one), mode=mode, use_precomputed_grid=True
    )
    golden = F.grid_sample(
        wide(x.transpose(0, 3, 1, 2)), wide(grid), mode=mode, align_corners=align
    )  # weights of eight bits
    np.testing.assert_allclose(held(found), golden.numpy().transpose(0, 2, 3, 1), atol=0.03)
    pairs = made.shape[-1] * 2
    packed = from_torch(to_torch(made).reshape(2, 4, 3, pairs), dtype=BF16, device=one)
    words = {"mode": mode, "use_precomputed_grid": True, "batch_output_channels": True}
    joined = call("grid_sample", put(one, x, F32, ROW), packed, **words)
    assert np.array_equal(held(joined), held(found).reshape(2, 4, 3, 64))


@pytest.mark.parametrize(("place", "mode", "wanted"), [
    ((0.0, 0.0), "nearest", [4, 4]), ((-1.0, -1.0), "nearest", [0, 0]), ((1.1, 0.0), "nearest", [-1, -1]),
    ((0.0, 0.0), "bilinear", [3, 4, 0.5, 0, 0.5, 0]), ((-1.0, -1.0), "bilinear", [-1, -1, 0, 0, 0, 0.25]),
])  # fmt: skip
def test_a_place_is_prepared_as_the_reference_does(
    place: tuple[float, float], mode: str, wanted: list[float]
) -> None:
    grid = host(np.array(place, np.float32).reshape(1, 1, 1, 2))
    made = to_torch(call("prepare_grid_sample_grid", grid, [1, 8, 9, 16], mode=mode)).reshape(-1)
    assert made.view(torch.int16)[:2].tolist() == wanted[:2]
    assert made[2:].tolist() == wanted[2:]


@pytest.mark.parametrize(("grid", "words", "message"), [
    (np.zeros((2, 3, 2)), {}, "must be 4D"),
    (np.zeros((1, 2, 3, 4)), {}, "last dimension must be 2"),
    (np.zeros((1, 2, 3, 2)), {"padding_mode": "border"}, "Currently only 'zeros' padding mode"),
    (np.zeros((1, 2, 3, 2)), {"mode": "cubic"}, "mode must be bilinear or nearest"),
    (np.zeros((1, 2, 3, 2)), {"output_dtype": F32}, "Currently only BFLOAT16"),
])  # fmt: skip
def test_what_is_no_grid_is_refused(grid: np.ndarray, words: dict[str, Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call("prepare_grid_sample_grid", host(grid.astype(np.float32)), [1, 8, 9, 16], **words)


def test_only_whole_factors_are_interpolated(one: MeshDevice) -> None:
    x = put(one, np.ones((1, 4, 4, 32)), BF16, ROW)
    with pytest.raises(RuntimeError, match=r"bilinear mode requires integer scale factors, got \(2.5, 2.5\)"):
        call("upsample", x, 2.5, mode="bilinear")
    assert call("upsample", x, 2.5).shape == (1, 10, 10, 32)


def test_a_mesh_without_room_for_tables_is_told_once() -> None:
    x = np.ones((1, 1, 16, 32), np.float32)
    for room, told in ((0, 1), (1024, 0)):
        mesh = open_mesh_device(MeshShape(1, 1), l1_small_size=room)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for in_dram in (True, False, False):
                images = put(mesh, x, BF16, ROW)
                ops.max_pool2d(
                    images, 1, 4, 4, 32, [2, 2], [2, 2], [0, 0], [1, 1], config_tensor_in_dram=in_dram
                )
        assert [str(each.message).count("l1_small_size=24576") for each in found] == [1] * told
        close_mesh_device(mesh)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_places_of_turned_images_are_not_rounded_to_their_type(one: MeshDevice, mode: str) -> None:
    x = np.round(np.random.default_rng(3).normal(size=(1, 32, 32, 16)) * 8) / 8
    whole, short = (
        held(call("rotate", put(one, x, dtype, ROW), 10.0, interpolation_mode=mode)) for dtype in (F32, BF16)
    )
    assert np.abs(whole - short).max() < 0.02


@pytest.mark.parametrize(("cut", "factor", "message"), [
    ("HEIGHT", 2.5, None), ("WIDTH", 2, None), ("HEIGHT", 2, "must have Shard Spec"),
])  # fmt: skip
def test_pieces_are_enlarged_off_their_cores(
    one: MeshDevice, cut: str, factor: float, message: str | None
) -> None:
    rows = 16 if cut == "HEIGHT" else 64
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 64 // rows - 1))])
    spec = ShardSpec(cores, (rows, 32), ShardOrientation.ROW_MAJOR)
    place = MemoryConfig(TensorMemoryLayout[f"{cut}_SHARDED"], BufferType.L1, spec)
    x = ops.to_memory_config(put(one, np.ones((1, 8, 8, 32)), BF16, ROW), place)
    if message:
        with pytest.raises(RuntimeError, match=message):
            call("upsample", x, factor, memory_config=DRAM_MEMORY_CONFIG)
    else:
        found = call("upsample", x, factor, memory_config=DRAM_MEMORY_CONFIG)
        assert found.shape[1] == int(8 * factor)
        assert not found.memory_config().is_sharded()


def _on_cores(kind: str, cores: tuple[int, int], piece: tuple[int, int]) -> MemoryConfig:
    spec = ShardSpec(
        CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(*cores))]), piece, ShardOrientation.ROW_MAJOR
    )
    return MemoryConfig(TensorMemoryLayout[f"{kind}_SHARDED"], BufferType.L1, spec)


@pytest.mark.parametrize(
    ("place", "asked", "found"),
    [
        (("HEIGHT", (7, 1), (16, 64)), ("HEIGHT", (7, 1), (16, 64)), (64, 64)),
        (("HEIGHT", (7, 1), (16, 64)), ("HEIGHT", (7, 1), (256, 64)), (64, 64)),
        (("BLOCK", (1, 7), (32, 32)), ("BLOCK", (1, 7), (32, 32)), (128, 32)),
        (("WIDTH", (1, 0), (256, 32)), ("HEIGHT", (7, 1), (64, 64)), (1024, 32)),
        (
            ("HEIGHT", (7, 7), (4, 64)),
            ("HEIGHT", (7, 3), (16, 64)),
            "Number of shards along height 64 must not exceed number of cores 32",
        ),
        (
            ("HEIGHT", (7, 1), (16, 64)),
            ("HEIGHT", (7, 3), (16, 64)),
            "Output tensor should have same number of cores 32 as input tensor 16",
        ),
    ],
)
def test_pieces_that_are_asked_for_are_those_of_the_image_enlarged(
    one: MeshDevice, place: Any, asked: Any, found: Any
) -> None:
    values = np.random.default_rng(5).normal(size=(1, 16, 16, 64))
    x = ops.to_memory_config(put(one, values, BF16, ROW), _on_cores(*place))
    if isinstance(found, str):
        with pytest.raises(RuntimeError, match=found):
            call("upsample", x, (2, 2), memory_config=_on_cores(*asked))
        return
    large = call("upsample", x, (2, 2), memory_config=_on_cores(*asked))
    spec = large.memory_config().shard_spec
    assert tuple(spec.shape) == found
    assert np.array_equal(held(large), held(x).repeat(2, 1).repeat(2, 2))


@pytest.mark.parametrize("channels", [32, 35])
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_nan_is_the_one_of_float32_rounded(one: MeshDevice, name: str, channels: int) -> None:
    """In channels that PyTorch rounds together, and in those that it rounds one by one."""
    values = np.random.default_rng(7).normal(size=(1, 1, 2 * 48 * 48, channels)).astype(np.float32)
    values[0, 0, 700, -1] = np.nan
    values[0, 0, 900, 1] = -np.nan
    x = from_torch(torch.from_numpy(values).bfloat16(), dtype=BF16, layout=ROW, device=one)
    words = [2, 48, 48, channels, [3, 3], [2, 2], [1, 1]]
    assert x.shards.bfloat16 is not None
    short = to_torch(call(name, x, *words, *[[1, 1]] * (name == "max_pool2d")))
    assert x.shards.data.dtype == np.float32  # from here on it lies in that
    long = to_torch(call(name, x, *words, *[[1, 1]] * (name == "max_pool2d")))
    assert torch.isnan(long).sum() >= 2
    assert torch.equal(short.view(torch.int16), long.view(torch.int16))
