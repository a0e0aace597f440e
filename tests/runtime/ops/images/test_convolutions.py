"""Convolutions against PyTorch in float64: strides, borders, dilation, groups, bias, prepared weights, fused activation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.golden import compare
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, held, put, rounded
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam
from tt_run.runtime.tuning.conv import L1_FULL, Conv2dConfig, Conv3dConfig, PaddingMode

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
F = torch.nn.functional


def call(name: str, *args: Any, **words: Any) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None, name
    return found(*args, **words)


def sample(shape: tuple[int, ...], seed: int, dtype: DataType = F32) -> np.ndarray:
    return rounded(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), dtype)


def host(array: np.ndarray, dtype: DataType = F32) -> Any:
    return from_torch(array, dtype=dtype)


def wide(array: np.ndarray) -> Any:
    return torch.from_numpy(np.ascontiguousarray(array, np.float64))


def images(array: np.ndarray) -> np.ndarray:
    """(N, C, H, W) as (1, 1, N*H*W, C)."""
    n, c, h, w = array.shape
    return array.transpose(0, 2, 3, 1).reshape(1, 1, n * h * w, c)


CASES = [
    {},
    {"stride": (2, 2)},
    {"padding": (1, 2)},
    {"padding": (0, 1, 2, 0)},
    {"dilation": (2, 1), "padding": (2, 1)},
    {"groups": 4, "padding": (1, 1)},
    {"groups": 8, "padding": (1, 1), "bias": True},
    {"bias": True, "kernel_size": (1, 1)},
    {"bias": True, "kernel_size": (5, 3), "stride": (3, 1)},
    {"dtype": BF16, "bias": True},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_conv2d(one: MeshDevice, case: dict[str, Any]) -> None:
    n, c, h, w, out = 2, 8, 9, 12, 16
    words: dict[str, Any] = {"kernel_size": (3, 3), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}  # fmt: skip
    words |= {k: v for k, v in case.items() if k in words}
    dtype = case.get("dtype", F32)
    x = sample((n, c, h, w), 1, dtype)
    filters = sample((out, c // words["groups"], *words["kernel_size"]), 2, dtype)
    bias = sample((1, 1, 1, out), 3, dtype) if case.get("bias") else None
    result, size, (weights, kept) = call(
        "conv2d", input_tensor=put(one, images(x), dtype, ROW), weight_tensor=host(filters, dtype), device=one,
        in_channels=c, out_channels=out, batch_size=n, input_height=h, input_width=w, dtype=dtype,
        bias_tensor=None if bias is None else host(bias, dtype), return_output_dim=True, return_weights_and_bias=True, **words,
    )  # fmt: skip
    pads = (
        words["padding"]
        if len(words["padding"]) == 4
        else (words["padding"][0],) * 2 + (words["padding"][1],) * 2
    )
    golden = F.conv2d(
        F.pad(wide(x), (pads[2], pads[3], pads[0], pads[1])), wide(filters),
        None if bias is None else wide(bias.ravel()), words["stride"], 0, words["dilation"], words["groups"],
    ).numpy()  # fmt: skip
    assert size == golden.shape[2:]
    assert (result.layout, result.dtype) == (TILE, dtype)
    compare(result, images(golden), 32 if dtype is F32 else 2)
    again = call(
        "conv2d", input_tensor=put(one, images(x), dtype), weight_tensor=weights, device=one, in_channels=c, out_channels=out,
        batch_size=n, input_height=h, input_width=w, bias_tensor=kept, **words,
    )  # fmt: skip
    assert np.array_equal(again.cpu().to_numpy(), result.cpu().to_numpy())


@pytest.mark.parametrize(("turned", "layout"), [("", "OIHW"), ("_transpose2d", "IOHW")])
def test_weights_and_bias_prepared_before(one: MeshDevice, turned: str, layout: str) -> None:
    """Bits of the result are the same whether the convolution lays its filters out or a program did."""
    x = sample((1, 8, 5, 6), 1)
    filters = sample((12, 8, 3, 2) if layout == "OIHW" else (8, 12, 3, 2), 2)
    bias = host(sample((1, 1, 1, 12), 3))
    sizes: dict[str, Any] = {"in_channels": 8, "out_channels": 12, "batch_size": 1, "input_height": 5, "input_width": 6,
        "kernel_size": (3, 2), "stride": (1, 1), "padding": (1, 0), "dilation": (1, 1), "groups": 1, "device": one}  # fmt: skip
    placed = {"input_memory_config": DRAM_MEMORY_CONFIG, "input_layout": ROW, "input_dtype": F32, **sizes}
    weights = call(
        f"prepare_conv{turned}_weights",
        weight_tensor=host(filters),
        weights_format=layout,
        has_bias=True,
        **placed,
    )
    row = call(f"prepare_conv{turned}_bias", bias_tensor=bias, **placed)
    name, images_of_x = f"conv{turned or '2d'}", put(one, images(x), F32, ROW)
    plain = call(name, input_tensor=images_of_x, weight_tensor=host(filters), bias_tensor=bias, **sizes)
    prepared = call(name, input_tensor=images_of_x, weight_tensor=weights, bias_tensor=row, **sizes)
    assert np.array_equal(plain.cpu().to_numpy(), prepared.cpu().to_numpy())


@pytest.mark.parametrize("dtype", [F32, DataType.BFLOAT8_B])
@pytest.mark.parametrize(
    ("name", "mirror"), [("conv2d", None), ("conv_transpose2d", True), ("conv_transpose2d", False)]
)
def test_filters_of_groups_come_back_as_one_matrix(
    one: MeshDevice, name: str, mirror: bool | None, dtype: DataType
) -> None:
    """One row for each place and channel, one column for each channel made, zeros where groups do not meet; they count again as they are."""
    filters = np.rint(sample((8, 2, 3, 2) if mirror is None else (4, 4, 3, 2), 2) * 8)
    planes = (
        filters
        if mirror is None
        else filters.reshape(2, 2, 4, 3, 2).transpose(0, 2, 1, 3, 4).reshape(8, 2, 3, 2)
    )
    wanted = np.zeros((3, 2, 4, 8))
    for group in range(2):
        outputs = slice(4 * group, 4 * group + 4)
        part = planes[outputs].transpose(2, 3, 1, 0)
        wanted[:, :, 2 * group : 2 * group + 2, outputs] = part[::-1, ::-1] if mirror else part
    words: dict[str, Any] = {"in_channels": 4, "out_channels": 8, "batch_size": 1, "input_height": 5, "input_width": 6,
        "kernel_size": (3, 2), "groups": 2, "device": one, "conv_config": Conv2dConfig(weights_dtype=dtype),
        "input_tensor": put(one, images(sample((1, 4, 5, 6), 1)), F32, ROW)}  # fmt: skip
    words |= {} if mirror is None else {"mirror_kernel": mirror}
    result, (weights, _) = call(name, weight_tensor=host(filters), return_weights_and_bias=True, **words)
    np.testing.assert_array_equal(weights.cpu().to_numpy(), wanted.reshape(1, 1, 24, 8))
    for given in (weights, host(filters)):
        assert np.array_equal(
            call(name, weight_tensor=given, **words).cpu().to_numpy(), result.cpu().to_numpy()
        )


def test_settings_that_reach_the_result(one: MeshDevice) -> None:
    x, filters = sample((1, 4, 6, 6), 1), sample((32, 4, 3, 3), 2)

    def run(sliced: Any = None, **settings: Any) -> Any:
        return call(
            "conv2d", input_tensor=put(one, images(x), F32, ROW), weight_tensor=host(filters), device=one, in_channels=4,
            out_channels=32, batch_size=1, input_height=6, input_width=6, kernel_size=(3, 3), padding=(1, 1),
            conv_config=Conv2dConfig(**settings), slice_config=sliced,
        )  # fmt: skip

    plain = F.conv2d(wide(x), wide(filters), padding=1).numpy()
    compare(run(activation=UnaryWithParam(UnaryOpType.RELU)), np.maximum(images(plain), 0), 32)
    assert run(output_layout=Layout.ROW_MAJOR).layout is TILE  # slices out of DRAM come in tiles
    assert run(output_layout=Layout.ROW_MAJOR, sliced=L1_FULL).layout is ROW
    around = F.conv2d(F.pad(wide(x), (1, 1, 1, 1), mode="replicate"), wide(filters)).numpy()
    compare(run(padding_mode=PaddingMode.Replicate), images(around), 32)
    coarse = run(weights_dtype=BFP8).cpu().to_numpy()
    error = np.abs(coarse - images(plain)).max()
    assert 0 < error < 0.3


def test_conv1d(one: MeshDevice) -> None:
    x, filters, bias = sample((2, 8, 20), 1), sample((12, 8, 5), 2), sample((1, 1, 1, 12), 3)
    result, length = call(
        "conv1d", input_tensor=put(one, x.transpose(0, 2, 1), F32, ROW), weight_tensor=host(filters), device=one, in_channels=8,
        out_channels=12, batch_size=2, input_length=20, kernel_size=5, stride=2, padding=2, bias_tensor=host(bias),
        return_output_dim=True,
    )  # fmt: skip
    golden = F.conv1d(wide(x), wide(filters), wide(bias.ravel()), 2, 2).numpy()
    assert length == golden.shape[2]
    compare(result, golden.transpose(0, 2, 1).reshape(1, 1, -1, 12), 32)
    with pytest.raises(
        RuntimeError, match="Unsupported data format for input A"
    ):  # a product, as of 1x1 images
        call(
            "conv1d", input_tensor=put(one, np.ones((2, 20, 8)), I32, ROW), weight_tensor=host(filters[..., :1]), device=one,
            in_channels=8, out_channels=12, batch_size=2, input_length=20, kernel_size=1,
        )  # fmt: skip


@pytest.mark.parametrize("mirror", [True, False])
@pytest.mark.parametrize("groups", [1, 2])
def test_conv_transpose2d(one: MeshDevice, groups: int, mirror: bool) -> None:
    x, filters = sample((2, 8, 5, 6), 1), sample((8, 12 // groups, 3, 3), 2)
    given = filters if mirror else filters[:, :, ::-1, ::-1]
    result, size = call(
        "conv_transpose2d", input_tensor=put(one, images(x), F32, ROW), weight_tensor=host(given), device=one, in_channels=8,
        out_channels=12, batch_size=2, input_height=5, input_width=6, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1),
        output_padding=(1, 1), groups=groups, mirror_kernel=mirror, return_output_dim=True,
    )  # fmt: skip
    golden = F.conv_transpose2d(wide(x), wide(filters), None, 2, 1, 1, groups).numpy()
    assert size == golden.shape[2:]
    compare(result, images(golden), 32)


@pytest.mark.parametrize(("padding", "extra"), [((0, 1), (2, 1)), ((1, 1), (1, 3))])
def test_a_transposed_convolution_makes_rows_beyond_a_step(
    one: MeshDevice, padding: tuple[int, int], extra: tuple[int, int]
) -> None:
    x, filters, bias = sample((2, 8, 5, 6), 1), sample((8, 12, 3, 3), 2), sample((1, 1, 1, 12), 3)
    result, size = call(
        "conv_transpose2d", input_tensor=put(one, images(x), F32, ROW), weight_tensor=host(filters), device=one, in_channels=8,
        out_channels=12, batch_size=2, input_height=5, input_width=6, kernel_size=(3, 3), padding=padding, output_padding=extra,
        bias_tensor=host(bias), return_output_dim=True,
    )  # fmt: skip
    whole = F.pad(F.conv_transpose2d(wide(x), wide(filters)), (0, extra[1], 0, extra[0])).numpy()
    ends = (side + size for side, size in zip(padding, size, strict=True))
    golden = whole[(..., *map(slice, padding, ends))] + bias.reshape(-1, 1, 1)
    assert size == (7 - 2 * padding[0] + extra[0], 8 - 2 * padding[1] + extra[1])
    compare(result, images(golden), 32)


VIDEO = {"dtype": F32, "output_channels": 32, "kernel_size": (3, 3, 3), "padding": (1, 1, 0)}


def padded(x: np.ndarray, channels: int) -> np.ndarray:
    """Images with zeros up to so many channels."""
    return np.concatenate([x, np.zeros((*x.shape[:-1], channels - x.shape[-1]), x.dtype)], -1)


@pytest.mark.parametrize(
    ("inner", "groups", "block"), [(4, 1, 0), (64, 1, 0), (64, 1, 32), (64, 1, 64), (12, 4, 32), (64, 2, 16)]
)
def test_conv3d(one: MeshDevice, inner: int, groups: int, block: int) -> None:
    x, filters, bias = (
        sample((1, inner, 4, 5, 6), 1),
        sample((32, inner // groups, 3, 3, 3), 2),
        sample((1, 32), 3),
    )
    frames = padded(x.transpose(0, 2, 3, 4, 1), -(-inner // 32) * 32)
    words = VIDEO | {"groups": groups, "config": Conv3dConfig(C_in_block=block)}
    golden = F.conv3d(wide(x), wide(filters), wide(bias.ravel()), padding=(1, 1, 0), groups=groups).numpy()
    prepared = call(
        "experimental.prepare_conv3d_weights", weight_tensor=host(filters), device=one, groups=groups, C_in_block=block or 32
    )  # fmt: skip
    assert tuple(prepared.shape) == (27 * frames.shape[-1], 32)
    for weights in (host(filters), prepared):
        result = call(
            "experimental.conv3d", input_tensor=put(one, frames, F32, ROW), weight_tensor=weights, bias_tensor=host(bias),
            device=one, **words,
        )  # fmt: skip
        compare(result, golden.transpose(0, 2, 3, 4, 1), 32)


def test_rows_of_video_filters_go_by_blocks_of_channels(one: MeshDevice) -> None:
    filters = np.arange(32 * 64 * 2, dtype=np.float32).reshape(32, 64, 2, 1, 1)
    made = call("experimental.prepare_conv3d_weights", weight_tensor=host(filters), device=one, C_in_block=32)
    by_hand = filters.reshape(32, 2, 32, 2).transpose(1, 3, 2, 0).reshape(128, 32)
    np.testing.assert_array_equal(held(made), by_hand)
    assert made.layout == host(filters).layout
    for alignment, channels in ((16, 48), (32, 64), (64, 64)):  # of 40
        made = call(
            "experimental.prepare_conv3d_weights",
            weight_tensor=host(filters[:, :40]),
            device=one,
            alignment=alignment,
        )
        wanted = np.zeros((32, channels, 2))
        wanted[:, :40] = filters[:, :40, :, 0, 0]
        np.testing.assert_array_equal(
            np.sort(held(made), 0), np.sort(wanted.transpose(2, 1, 0).reshape(-1, 32), 0)
        )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"stride": (0, 1, 1)}, r"stride must be greater than 0, got \(0, 1, 1\)"),
        ({"groups": 0}, "groups must be greater than 0"),
        ({"groups": 3}, "Got input channels 32 and groups 3"),
        (
            {"config": Conv3dConfig(C_in_block=48)},
            r"Input channels \(32\) must be divisible by C_in_block \(48\)",
        ),
        ({"config": Conv3dConfig(C_in_block=8)}, r"C_in_block \(8\) must be a multiple of 16"),
        ({"kernel_size": (3, 3, 1)}, "Weight patch size must match input patch size. got 864 vs 288"),
        ({"output_channels": 64}, "got 32 vs 64"),
    ],
)
def test_conv3d_refuses(one: MeshDevice, changed: dict[str, Any], message: str) -> None:
    frames, matrix = put(one, sample((1, 4, 5, 6, 32), 1), F32, ROW), host(sample((864, 32), 2))
    with pytest.raises(RuntimeError, match=message):
        call("experimental.conv3d", input_tensor=frames, weight_tensor=matrix, device=one, **VIDEO | changed)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, None),
        ({"padding_mode": "replicate"}, 'Halo mode requires padding_mode "zeros". got replicate'),
        ({"dilation": (1, 2, 2)}, "Halo mode requires a kernel with spatial reuse and no dilation"),
        ({"halo_buffer": (47, 32, F32, ROW)}, "holds 47 pages but the .* sections need 48"),
        ({"halo_buffer": (48, 64, F32, ROW)}, r"page size \(256 B\) must match the input's \(128 B\)"),
        ({"halo_buffer": (64, 32, F32, TILE)}, "Halo buffer must be row-major."),
        ({"halo_buffer": (48, 32, BF16, ROW)}, "Halo buffer dtype must match the input dtype"),
        ({"pad_offset_tensor": (1, 2, I32, ROW)}, "Pad offset tensor must be uint32. got DataType::INT32"),
    ],
)
def test_conv3d_with_borders_of_its_neighbours(
    one: MeshDevice, changed: dict[str, Any], message: str | None
) -> None:
    frames, filters = sample((1, 4, 5, 6, 32), 1), sample((32, 32, 3, 3, 3), 2)
    rows = sample((48, 32), 3)
    words = VIDEO | {"padding": (0, 1, 0), "halo_buffer": put(one, rows, F32, ROW)} | changed
    for name, value in changed.items():
        if isinstance(value[-1], Layout):
            words[name] = put(one, np.ones(value[:2]), *value[2:])
    words |= {"input_tensor": put(one, frames, F32, ROW), "weight_tensor": host(filters), "device": one}
    if message:
        with pytest.raises(RuntimeError, match=message):
            call("experimental.conv3d", **words)
        return
    above, below = rows.reshape(2, 1, 4, 1, 6, 32)
    whole = np.concatenate([above, frames, below], 2).transpose(0, 4, 1, 2, 3)
    golden = F.conv3d(wide(whole), wide(filters)).numpy().transpose(0, 2, 3, 4, 1)
    compare(call("experimental.conv3d", **words), golden, 32)


def test_conv3d_without_what_lies_beyond_the_video(one: MeshDevice) -> None:
    frames, filters = sample((1, 4, 5, 6, 32), 1), sample((32, 32, 3, 3, 3), 2)
    starts = put(one, np.array([[7, 20]]), DataType.UINT32, ROW)
    words = VIDEO | {
        "input_tensor": put(one, frames, F32, ROW),
        "weight_tensor": host(filters),
        "device": one,
    }
    found = call(
        "experimental.conv3d", **words, logical_h_mask=10, logical_w_mask=24, pad_offset_tensor=starts
    )
    frames[:, :, 3:] = frames[:, :, :, 4:] = 0
    golden = F.conv3d(wide(frames.transpose(0, 4, 1, 2, 3)), wide(filters), padding=(1, 1, 0))
    compare(found, golden.numpy().transpose(0, 2, 3, 4, 1), 32)
    plain = call("experimental.conv3d", **words)
    unplaced = call("experimental.conv3d", **words, logical_h_mask=1)  # which says nothing without starts
    assert np.array_equal(held(unplaced), held(plain))


def test_conv3d_amid_zeros(one: MeshDevice) -> None:
    frames, filters = sample((1, 4, 5, 6, 32), 1), sample((48, 32, 3, 3, 3), 2)
    words = VIDEO | {
        "input_tensor": put(one, frames, F32, ROW),
        "weight_tensor": host(filters),
        "device": one,
    }
    words["output_channels"] = 48
    plain = call("experimental.conv3d", **words)
    assert tuple(plain.padded_shape) == (*plain.shape[:-1], 64)
    amid = call("experimental.conv3d", **words, output_pad_h=1, output_pad_w=2)
    assert np.array_equal(held(amid), np.pad(held(plain), ((0, 0), (0, 0), (1, 1), (2, 2), (0, 0))))
    with pytest.raises(TypeError):
        call("experimental.conv3d", **words, output_pad_h=-1)


def test_filters_and_their_convolution_agree_on_blocks_that_nobody_names(one: MeshDevice) -> None:
    frames, filters = sample((1, 2, 4, 4, 64), 1), sample((32, 64, 1, 3, 3), 2)
    made = call("experimental.prepare_conv3d_weights", weight_tensor=host(filters), device=one)
    words = {"input_tensor": put(one, frames, F32, ROW), "device": one, "dtype": F32, "output_channels": 32}
    found = [
        call("experimental.conv3d", **words, weight_tensor=weights, kernel_size=(1, 3, 3))
        for weights in (made, host(filters))
    ]
    assert np.array_equal(*map(held, found))


def test_conv3d_with_weights_in_two_parts(one: MeshDevice) -> None:
    x, filters = sample((1, 32, 5, 6, 7), 1), sample((8, 32, 3, 3, 3), 2)
    video = put(one, x.transpose(0, 2, 3, 4, 1), F32, ROW)
    high = rounded(filters, BF16)
    words = {
        "input_tensor": video,
        "device": one,
        "dtype": F32,
        "output_channels": 8,
        "kernel_size": (3, 3, 3),
    }
    parts = {"weight_tensor": host(high, BF16), "weight_lo_tensor": host(filters - high)}
    golden = F.conv3d(wide(x), wide(filters)).numpy().transpose(0, 2, 3, 4, 1)
    compare(call("experimental.conv3d", **words, **parts), golden, 32)
    prepared = {
        k: call("experimental.prepare_conv3d_weights", weight_tensor=w, device=one) for k, w in parts.items()
    }
    compare(call("experimental.conv3d", **words, **prepared), golden, 32)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"stride": (0, 1)}, r"stride must be greater than 0, got \(0, 1\)"),
        ({"conv_config": Conv2dConfig(act_block_w_div=0)}, "act_block_w_div must be greater than 0"),
        (
            {"conv_config": Conv2dConfig(act_block_h_override=16)},
            r"act_block_h_override \(16\) must be a multiple of 32",
        ),
        ({"conv_config": Conv2dConfig(override_sharding_config=True)}, "Core grid must be provided"),
        (
            {"conv_config": Conv2dConfig(output_layout=ROW), "dtype": BFP8},
            "Conv output can't be in Row Major",
        ),
    ],
)
def test_settings_of_convolutions_are_refused(one: MeshDevice, changed: dict[str, Any], message: str) -> None:
    x, filters = put(one, sample((1, 1, 64, 32), 1), F32, ROW), host(sample((32, 32, 3, 3), 2))
    words = {
        "input_tensor": x, "weight_tensor": filters, "device": one, "in_channels": 32, "out_channels": 32, "batch_size": 1,
        "input_height": 8, "input_width": 8, "kernel_size": (3, 3), "stride": (1, 1), "padding": (1, 1),
    }  # fmt: skip
    for name in ("conv2d", "conv_transpose2d"):
        with pytest.raises(RuntimeError, match=message):
            call(name, **words | changed)


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d", "conv1d"])
def test_no_groups_are_one(one: MeshDevice, name: str) -> None:
    shape, kernel = ((1, 64, 32), 3) if name == "conv1d" else ((1, 1, 64, 32), (3, 3))
    filters = host(sample((32, 32, 3, *((3,) if name != "conv1d" else ())), 2))
    words: dict[str, Any] = {
        "input_tensor": put(one, sample(shape, 1), F32, ROW), "weight_tensor": filters, "device": one, "in_channels": 32,
        "out_channels": 32, "batch_size": 1, "kernel_size": kernel,
    }  # fmt: skip
    words |= {"input_length": 64} if name == "conv1d" else {"input_height": 8, "input_width": 8}
    np.testing.assert_array_equal(held(call(name, groups=0, **words)), held(call(name, groups=1, **words)))


def test_padding_that_leaves_nothing_of_a_transposed_convolution(one: MeshDevice) -> None:
    x, filters = sample((1, 4, 4, 2), 1), sample((4, 8, 1, 1), 2)
    with pytest.raises(RuntimeError, match="the result would be 4 x 0"):
        call(
            "conv_transpose2d", input_tensor=put(one, images(x), F32, ROW), weight_tensor=host(filters), device=one, in_channels=4,
            out_channels=8, batch_size=1, input_height=4, input_width=2, kernel_size=(1, 1), padding=(0, 1),
        )  # fmt: skip


def test_each_device_has_its_own_images(mesh: MeshDevice) -> None:
    x, filters = sample((8, 4, 6, 6), 1), sample((32, 4, 3, 3), 2)
    batch = put(mesh, x.transpose(0, 2, 3, 1), F32, ROW, shard=0)
    result = call(
        "conv2d", input_tensor=batch, weight_tensor=host(filters), device=mesh, in_channels=4, out_channels=32, batch_size=1,
        input_height=6, input_width=6, kernel_size=(3, 3),
    )  # fmt: skip
    golden = F.conv2d(wide(x), wide(filters)).numpy()
    for device in range(8):
        found = result.shards.of(device)
        assert np.allclose(found, images(golden[device : device + 1]), atol=1e-4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"in_channels": 5}, "are not"),
        ({"input_height": 7}, "does not hold 1 images of 7x6"),
        ({"kernel_size": (3, 3, 3)}, r"kernel_size must be 2 whole numbers from 0, got \(3, 3, 3\)"),
        ({"padding": (1, 1, 1)}, r"padding must be 2 or 4 whole numbers from 0, got \(1, 1, 1\)"),
        ({"dilation": (1, -1)}, r"dilation must be 2 whole numbers from 0, got \(1, -1\)"),
    ],
)
def test_sizes_that_do_not_fit(one: MeshDevice, words: dict[str, Any], message: str) -> None:
    x, filters = sample((1, 4, 6, 6), 1), sample((32, 4, 3, 3), 2)
    settings: dict[str, Any] = {
        "in_channels": 4, "out_channels": 32, "batch_size": 1, "input_height": 6, "input_width": 6, "kernel_size": (3, 3),
    }  # fmt: skip
    with pytest.raises(TypeError if "whole numbers" in message else RuntimeError, match=message):
        call(
            "conv2d", input_tensor=put(one, images(x), F32, ROW), weight_tensor=host(filters), device=one, **(settings | words)
        )  # fmt: skip


def test_a_transposed_convolution_out_of_dram_comes_in_tiles(one: MeshDevice) -> None:
    """As reference library 0.81.1 answers, whatever layout the configuration names."""
    found = call(
        "conv_transpose2d", input_tensor=put(one, np.ones((1, 1, 64, 32)), BF16, ROW), device=one, in_channels=32,
        weight_tensor=host(np.ones((32, 32, 3, 3)), BF16), out_channels=32, batch_size=1, input_height=8, input_width=8,
        kernel_size=(3, 3), conv_config=Conv2dConfig(output_layout=ROW),
    )  # fmt: skip
    assert (found.layout, found.memory_config()) == (TILE, DRAM_MEMORY_CONFIG)


def test_images_of_integers(one: MeshDevice) -> None:
    """Windows are slid over them with real weights; a product of matrices does not take them."""
    x = np.arange(16, dtype=np.int32).reshape(1, 1, 16, 1) % 5
    words = {
        "input_tensor": put(one, np.repeat(x, 32, -1), DataType.INT32, ROW),
        "device": one, "in_channels": 32, "out_channels": 32, "batch_size": 1, "input_height": 4, "input_width": 4,
    }  # fmt: skip
    one_each = np.zeros((32, 32, 3, 3), np.float32)
    one_each[np.arange(32), np.arange(32), 1, 1] = 2
    found = call("conv2d", **words, weight_tensor=host(one_each, BF16), kernel_size=(3, 3), padding=(1, 1))
    assert found.dtype is DataType.INT32
    assert held(found)[0, 0, :, 7].tolist() == (2 * x[0, 0, :, 0]).tolist()
    with pytest.raises(RuntimeError, match="Unsupported data format for input A: DataType::INT32"):
        call("conv2d", **words, weight_tensor=host(one_each[:, :, 1:2, 1:2].copy(), BF16), kernel_size=(1, 1))


def test_videos_that_conv3d_does_not_take(one: MeshDevice) -> None:
    video, filters = np.ones((1, 3, 4, 4, 32), np.float32), np.ones((32, 32, 1, 1, 1), np.float32)
    words = {"device": one, "output_channels": 32, "kernel_size": (1, 1, 1)}
    for given, dtype, weights, message in (
        (put(one, video, BF16), BF16, BF16, "Activation tensor must be row-major."),
        (put(one, video, F32, ROW), F32, BF16, "Input and weight tensors must have the same dtype. got DataType::FLOAT32 vs DataType::BFLOAT16"),
        (put(one, video, BF16, ROW), BFP8, BF16, "Only TILE layout is supported for BFLOAT8_B dtype!"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=message):
            call(
                "experimental.conv3d",
                input_tensor=given,
                weight_tensor=host(filters, weights),
                dtype=dtype,
                **words,
            )
    found = call(
        "experimental.conv3d", input_tensor=put(one, video, BF16, ROW), weight_tensor=host(filters, BF16), dtype=BF16,
        config=Conv3dConfig(output_layout=TILE), **words,
    )  # fmt: skip
    assert (found.layout, found.memory_config()) == (ROW, DRAM_MEMORY_CONFIG)


def test_a_bias_has_the_type_of_its_weights(one: MeshDevice) -> None:
    words: dict[str, Any] = {
        "in_channels": 4, "out_channels": 8, "batch_size": 1, "input_height": 4, "input_width": 4, "kernel_size": (3, 3),
        "return_weights_and_bias": True,
    }  # fmt: skip
    x, filters = (
        put(one, sample((1, 1, 16, 4), 1, BF16), BF16, ROW),
        host(sample((8, 4, 3, 3), 2, BF16), BF16),
    )
    bias = sample((1, 1, 1, 8), 3)
    for given in (host(bias), put(one, bias, F32, ROW)):
        _, (_, kept) = call(
            "conv2d", input_tensor=x, weight_tensor=filters, device=one, bias_tensor=given, **words
        )
        assert kept.dtype is BF16
        assert held(kept).reshape(-1).tolist() == rounded(bias.reshape(-1), BF16).tolist()
    with pytest.raises(RuntimeError, match="Host conv bias layout should be in row_major layout"):
        call("conv2d", input_tensor=x, weight_tensor=filters, device=one, bias_tensor=put(one, bias), **words)
