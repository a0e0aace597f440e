"""What single arguments change of operations beside the table of calls: each with another value than what leaving it out means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U16, U32, held, near, put, rounded
from tests.runtime.ops.test_less_used import call, sample
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice

pytestmark = pytest.mark.usefixtures("float32_too")


def test_membership_inverted(one: MeshDevice):
    x, chosen = np.array([[3, 1, 4, 1, 5]], np.int32), np.array([1, 5], np.int32)
    for unique in (False, True):
        for invert in (False, True):
            found = call(
                "experimental.isin", put(one, x, I32, ROW), put(one, chosen, I32, ROW), assume_unique=unique, invert=invert
            )  # fmt: skip
            assert (held(found) != 0).tolist() == np.isin(x, chosen, invert=invert).tolist()


@pytest.mark.torch
@pytest.mark.parametrize("dilation", [1, 2, 3])
def test_convolutions_along_one_dimension_dilated(one: MeshDevice, dilation: int):
    torch = pytest.importorskip("torch")
    x, w = sample(2, 16, 8), sample(12, 8, 3, seed=1)
    found = call(
        "conv1d", input_tensor=put(one, x, F32, ROW), weight_tensor=put(one, w, F32, ROW), device=one, in_channels=8,
        out_channels=12, batch_size=2, input_length=16, kernel_size=3, stride=1, padding=2, dilation=dilation,
    )  # fmt: skip
    wide = torch.nn.functional.conv1d(
        torch.from_numpy(x).double().permute(0, 2, 1),
        torch.from_numpy(w).double(),
        padding=2,
        dilation=dilation,
    )
    near(found, wide.permute(0, 2, 1).reshape(1, 1, -1, 12).numpy(), steps=64)


@pytest.mark.torch
@pytest.mark.parametrize(
    "words",
    [
        {"stride": (2, 1, 2)},
        {"dilation": (1, 2, 1)},
        {"padding_mode": "replicate", "padding": (1, 1, 1)},
        {"groups": 2},
    ],
)
def test_convolutions_of_volumes(one: MeshDevice, words: dict[str, Any]):
    torch = pytest.importorskip("torch")
    said = {
        "stride": (1, 1, 1),
        "padding": (0, 1, 1),
        "padding_mode": "zeros",
        "groups": 1,
        "dilation": (1, 1, 1),
    } | words
    x, w = sample(1, 5, 7, 8, 32), sample(32, 32 // said["groups"], 3, 3, 3, seed=1)
    weights = call(
        "experimental.prepare_conv3d_weights",
        weight_tensor=put(one, w, F32, ROW),
        groups=said["groups"],
        device=one,
    )
    found = call(
        "experimental.conv3d", input_tensor=put(one, x, F32, ROW), weight_tensor=weights, device=one, output_channels=32, dtype=F32,
        kernel_size=(3, 3, 3), **said,
    )  # fmt: skip
    image = torch.from_numpy(x).double().permute(0, 4, 1, 2, 3)
    if said["padding_mode"] == "replicate":
        image = torch.nn.functional.pad(image, (1, 1, 1, 1, 1, 1), mode="replicate")
        said["padding"] = (0, 0, 0)
    wide = torch.nn.functional.conv3d(
        image, torch.from_numpy(w).double(), stride=said["stride"], padding=said["padding"], dilation=said["dilation"],
        groups=said["groups"],
    )  # fmt: skip
    near(found, wide.permute(0, 2, 3, 4, 1).numpy(), steps=64)


@pytest.mark.torch
@pytest.mark.parametrize("words", [{"eps": 0.5}, {"momentum": 0.4}])
def test_batches_normalised_with_other_numbers(one: MeshDevice, words: dict[str, float]):
    torch = pytest.importorskip("torch")
    x = sample(3, 4, 5, 6)
    mean, variance = sample(1, 4, 1, 1, seed=1), np.abs(sample(1, 4, 1, 1, seed=2)) + 0.5
    for training in (False, True):
        kept = [put(one, mean), put(one, variance)]
        found = call(
            "batch_norm", put(one, x), running_mean=kept[0], running_var=kept[1], training=training, **words
        )
        means, variances = (torch.from_numpy(a.reshape(-1)).double().clone() for a in (mean, variance))
        wide = torch.nn.functional.batch_norm(
            torch.from_numpy(x).double(), means, variances, training=training, **words
        )
        near(found, wide.numpy(), steps=64)
        if training:
            near(kept[0], means.reshape(1, 4, 1, 1).numpy(), steps=64)


@pytest.mark.parametrize("layout", [TILE, ROW])
def test_made_in_either_layout(one: MeshDevice, layout: Layout):
    like = put(one, sample(3, 33), BF16, TILE if layout is ROW else ROW)
    made = {
        "zeros_like": (call("zeros_like", like, layout=layout), 0),
        "ones_like": (call("ones_like", like, layout=layout), 1),
        "full_like": (call("full_like", like, 2.5, layout=layout), 2.5),
        "full_like in another type": (call("full_like", like, 2, dtype=I32, layout=layout), 2),
    }
    for name, (found, value) in made.items():
        assert found.layout is layout and (held(found) == value).all(), name
    assert made["full_like in another type"][0].dtype is I32
    row = call("arange", 0, 10, 3, dtype=BF16, device=one, layout=layout)
    assert row.layout is layout and held(row).tolist() == [0, 3, 6, 9]


def test_random_numbers_between_bounds(one: MeshDevice):
    for layout in (TILE, ROW):
        found = call("rand", (64, 64), device=one, dtype=F32, layout=layout, low=-3.0, high=-1.0, seed=5)
        values = held(found)
        assert found.layout is layout
        assert -3 <= values.min() < -2.9 and -1.1 < values.max() < -1 and abs(values.mean() + 2) < 0.05
        normal = call("randn", (64, 64), device=one, dtype=F32, layout=layout, seed=5)
        assert normal.layout is layout and abs(held(normal).std() - 1) < 0.05


@pytest.mark.parametrize("dtype", [F32, DataType.BFLOAT8_B])
def test_tiles_of_another_type(one: MeshDevice, dtype: DataType):
    x = rounded(sample(33, 50), BF16)
    found = call("tilize_with_zero_padding", put(one, x, BF16, ROW), output_dtype=dtype)
    assert found.dtype is dtype and found.layout is TILE
    assert np.array_equal(held(found)[..., :33, :50], held(put(one, x, dtype)))


@pytest.mark.parametrize(("stable", "descending"), [(True, False), (True, True)])
def test_equal_elements_stay_in_order(one: MeshDevice, stable: bool, descending: bool):
    x = np.random.default_rng(3).integers(0, 4, (2, 3, 64)).astype(np.float32)
    for dim in (0, 1, 2):
        values, places = call("sort", put(one, x, BF16), dim=dim, descending=descending, stable=stable)
        order = np.argsort(-x if descending else x, axis=dim, kind="stable")
        assert np.array_equal(held(places), order)
        assert np.array_equal(held(values), np.take_along_axis(x, order, dim))
    x = np.random.default_rng(3).integers(0, 4, (1, 1, 32, 64)).astype(np.float32)
    values, places = call("topk", put(one, x, BF16), 32, dim=-1, largest=descending, stable=stable)
    order = np.argsort(-x if descending else x, axis=-1, kind="stable")[..., :32]
    assert np.array_equal(held(places), order)
    assert np.array_equal(held(values), np.take_along_axis(x, order, -1))


def test_products_in_parts_with_a_bias(one: MeshDevice):
    x, w, bias = (rounded(sample(*shape), BF16) for shape in ((2, 1, 33, 64), (64, 192), (1, 192)))
    whole = x.astype(float) @ w + bias
    for chunks in (2, 3):
        found = call(
            "experimental.minimal_matmul_split",
            put(one, x, BF16),
            put(one, w, BF16),
            chunks=chunks,
            bias_tensor=put(one, bias, BF16),
        )
        for part, wanted in zip(found, np.split(whole, chunks, -1), strict=True):
            near(part, wanted, steps=2)


@pytest.mark.parametrize("words", [{"transpose_a": True}, {"transpose_b": True}, {"activation": "relu"}])
def test_products_of_batches_of_weights(one: MeshDevice, words: dict[str, Any]):
    x, weights = sample(64, 32), [sample(32, 96, seed=s) for s in (1, 2)]
    wanted = [x.astype(float) @ w for w in weights]
    given = x.T if "transpose_a" in words else x
    turned = [w.T if "transpose_b" in words else w for w in weights]
    found = call("matmul_batched_weights", put(one, given), [put(one, w) for w in turned], **words)
    for product, whole in zip(found, wanted, strict=True):
        near(product, np.maximum(whole, 0) if "activation" in words else whole, steps=256)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_pages_are_replaced_along_any_dimension(one: MeshDevice, dim: int):
    x, places = sample(4, 4, 4, 6), np.array([3, 1])
    shape = [4, 4, 4, 6]
    shape[dim] = 2
    new = sample(*shape, seed=1)
    wanted = x.copy()
    wanted[(slice(None),) * dim + (places,)] = new
    found = call(
        "indexed_fill", put(one, places, U32, ROW), put(one, x, F32, ROW), put(one, new, F32, ROW), dim=dim
    )
    assert np.array_equal(held(found), wanted)


@pytest.mark.torch
@pytest.mark.parametrize("axis", [0, 1])
def test_levels_of_another_axis_and_type(one: MeshDevice, axis: int):
    x = sample(3, 4)
    scale, zero = np.abs(sample(x.shape[axis], seed=1)) + 0.1, np.arange(x.shape[axis])
    shape = [1, 1]
    shape[axis] = -1
    levels = put(one, scale, F32, ROW), put(one, zero, I32, ROW)
    found = call("quantize", put(one, x), *levels, axis=axis)
    wanted = np.rint(x / scale.reshape(shape)) + zero.reshape(shape)
    assert np.abs(held(found) - wanted).max() <= 1  # halves
    back = call("dequantize", found, *levels, axis=axis, dtype=F32)
    near(back, (held(found) - zero.reshape(shape)) * scale.reshape(shape).astype(float), steps=8)


def test_rows_of_a_table_but_one(one: MeshDevice):
    table, ids = rounded(sample(8, 32), BF16), np.array([[1, 3, 0, 3]])
    for words in ({}, {"padding_idx": 3}):
        found = call("embedding", put(one, ids, U32, ROW), put(one, table, BF16, ROW), **words)
        assert np.array_equal(held(found), table[ids])  # its vector is what the table holds, as PyTorch's is
    assert call("embedding", put(one, ids, U32, ROW), put(one, table, BF16, ROW), layout=TILE).layout is TILE
    assert call("typecast", put(one, ids, U32, ROW), U16).dtype is U16


def rooms(one: MeshDevice) -> dict[str, tuple[list[Any], dict[str, Any], str]]:
    """Calls of operations beside the table of calls, and the word for what they write over."""
    x, four = put(one, sample(3, 64)), put(one, sample(1, 2, 32, 64), BF16)
    ids = put(one, [[1, 3, 0, 3]], U32, ROW)
    places = put(one, np.random.default_rng(1).integers(0, 64, (3, 5)), U32)
    levels = put(one, np.arange(-6, 6).reshape(2, 6), I32)
    row = put(one, sample(1, 2, 1, 1, seed=1), BF16)
    return {
        "gather": ([x, 1, places], {}, "out"),
        "quantize": ([x, 0.5, 3], {}, "output_tensor"),
        "dequantize": ([levels, 0.5, 3], {}, "output_tensor"),
        "requantize": ([levels, 0.25, 3, 0.5, -1], {}, "output_tensor"),
        "embedding": ([ids, put(one, sample(8, 32), BF16, ROW)], {}, "output_tensor"),
        "ema": ([put(one, sample(1, 2, 3, 40), BF16), 0.25], {}, "out"),
        "batch_norm": ([four], {"running_mean": row, "running_var": put(one, np.ones((1, 2, 1, 1)), BF16)}, "output"),
        "experimental.fast_reduce_nc": ([four], {"dims": [1]}, "output"),
        "alt_complex_rotate90": ([x], {}, "output_tensor"),
    }  # fmt: skip


@pytest.mark.torch
def test_results_are_written_over_what_is_given_for_them(one: MeshDevice):
    for name, (given, words, room) in rooms(one).items():
        plain = call(name, *given, **words)
        into = put(one, np.full(plain.shape.dims, 9), plain.dtype, plain.layout)
        found = call(name, *given, **words, **{room: into})
        assert found.storage is into.storage, name
        assert held(into).tobytes() == held(plain).tobytes(), name
