"""What operations beside the table of calls give for an argument that has another value than its default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, U8, U32, held, near, put, rounded
from tests.runtime.ops.test_less_used import call, sample
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.lookup import EmbeddingsType
from tt_run.runtime.ops.elementwise.unary import GeluVariant
from tt_run.runtime.tensor.borders.arrays import to_torch
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, CoreGrid, MemoryConfig, ShardSpec
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam
from tt_run.runtime.tuning.matmul import MatmulMultiCoreReuseMultiCast1DProgramConfig

pytestmark = pytest.mark.usefixtures("float32_too")
PROGRAM = MatmulMultiCoreReuseMultiCast1DProgramConfig(
    compute_with_storage_grid_size=CoreCoord(4, 1), fuse_batch=False, fused_activation=None, mcast_in0=True, in0_block_w=1,
    out_subblock_h=1, out_subblock_w=1, per_core_M=1, per_core_N=1,
)  # fmt: skip


NUMBERS: dict[str, tuple[str, Callable[[np.ndarray, float], np.ndarray]]] = {
    "div": ("value", np.divide),
    "divide": ("value", np.divide),
    "maximum": ("input_b", np.maximum),
    "minimum": ("input_b", np.minimum),
    "rsub": ("input_b", lambda a, b: b - a),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_second_operands_under_their_other_name(one: MeshDevice, name: str) -> None:
    word, wanted = NUMBERS[name]
    x = sample(33, 50)
    for number in (0.5, -3.0):
        found = call(name, put(one, x), **{word: number})
        near(found, wanted(x.astype(np.float64), number), steps=1)


SHIFTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "logical_left_shift": np.left_shift,
    "logical_right_shift": lambda a, b: (a.view(np.uint32) >> b.view(np.uint32)).view(np.int32),
}


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_by_what_a_function_makes_of_their_second_operand(one: MeshDevice, name: str) -> None:
    rng = np.random.default_rng(4)
    a = rng.integers(-(1 << 20), 1 << 20, (3, 40)).astype(np.int32)
    b = rng.integers(-5, 6, (3, 40)).astype(np.int32)
    words = {"input_tensor_b_activations": [UnaryOpType.ABS]}
    found = call(name, put(one, a, I32), put(one, b, I32), **words)
    assert found.dtype is I32 and np.array_equal(held(found), SHIFTS[name](a, np.abs(b)))
    of_one: dict[str, Any] = {"input_tensor_b_activations": [UnaryWithParam(UnaryOpType.RELU)]}
    found = call(name, put(one, a, I32), put(one, b, I32), **of_one)
    assert np.array_equal(held(found), SHIFTS[name](a, np.maximum(b, 0)))


def test_not_a_number_is_close_to_itself_where_asked(one: MeshDevice) -> None:
    a, b = np.array([[1, np.nan, np.nan, np.inf]]), np.array([[1, np.nan, 2, np.inf]])
    for equal_nan in (False, True):
        found = call("isclose", put(one, a), put(one, b), equal_nan=equal_nan)
        assert (held(found) != 0).tolist() == np.isclose(a, b, equal_nan=equal_nan).tolist()


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_coins_of_another_type_and_in_a_room(one: MeshDevice, dtype: DataType) -> None:
    chances = put(one, np.full((64, 64), 0.3), BF16)
    plain = held(call("bernoulli", chances, 7))
    found = call("bernoulli", chances, 7, dtype=dtype)
    assert found.dtype is dtype and np.array_equal(held(found), plain)
    assert set(np.unique(plain)) == {0, 1} and abs(plain.mean() - 0.3) < 0.03
    room = put(one, np.full((64, 64), 9), dtype)
    found = call("bernoulli", chances, 7, output=room)
    assert found.storage is room.storage and np.array_equal(held(room), plain)


def test_tables_of_two_rows_and_with_a_padding(one: MeshDevice) -> None:
    ids, table = np.array([[1, 0, 0, 1]]), rounded(sample(2, 32), BF16)
    kinds: dict[Any, dict[str, Any]] = {
        EmbeddingsType.BINARY: {},
        EmbeddingsType.PADDED: {"padding_idx": 1},
    }
    for kind, words in kinds.items():
        found = call(
            "embedding", put(one, ids, U32, ROW), put(one, table, BF16, ROW), embeddings_type=kind, **words
        )
        assert np.array_equal(held(found), table[ids])


@pytest.mark.parametrize("words", [{"update_idx": 32}, {"update_idx": 0}])
def test_caches_filled_from_a_place_on(one: MeshDevice, words: dict[str, int]) -> None:
    cache, new = rounded(sample(2, 2, 96, 32), BF16), rounded(sample(1, 2, 32, 32, seed=1), BF16)
    kept = put(one, cache, BF16)
    call("kv_cache.fill_cache_for_user_", kept, put(one, new, BF16), 1, **words)
    wanted = cache.copy()
    wanted[1, :, words["update_idx"] : words["update_idx"] + 32] = new[0]
    assert np.array_equal(held(kept), wanted)


@pytest.mark.torch
@pytest.mark.parametrize("center", [(2.0, 3.0), (0.0, 0.0), (8.5, 1.5), (7.0, 2.0)])
def test_images_turned_round_another_middle(one: MeshDevice, center: tuple[float, float]) -> None:
    pytest.importorskip("torch")
    x = sample(2, 8, 8, 32)
    for angle, sine, cosine in ((90, 1, 0), (180, 0, -1)):
        found = held(call("rotate", put(one, x, F32, ROW), angle, center=center, fill=5.0))
        wanted = np.full_like(x, 5)
        for row in range(8):
            for column in range(8):
                across, down = column + 0.5 - center[0], row + 0.5 - center[1]
                left, top = (
                    cosine * across - sine * down + center[0],
                    sine * across + cosine * down + center[1],
                )
                if 0 < left < 8 and 0 < top < 8:
                    wanted[:, row, column] = x[:, int(top), int(left)]
        assert np.array_equal(found, wanted)


@pytest.mark.torch
def test_norms_that_are_not_finite_are_errors_where_asked(one: MeshDevice) -> None:
    pytest.importorskip("torch")
    parts = [put(one, [[[[1.0, np.inf]]]]), put(one, [[[[2.0, 3.0]]]])]
    with pytest.raises(RuntimeError, match="non-finite"):
        call("moreh_clip_grad_norm", parts, 1.0, 2.0, True)
    assert held(parts[1]).tolist() == [[[[2, 3]]]]
    assert not np.isfinite(held(call("moreh_clip_grad_norm", parts, 1.0, 2.0, False))).any()
    found = call("moreh_clip_grad_norm", [put(one, [[[[3.0, 4.0]]]])], 1.0, 2.0, True)
    near(found, [[5.0]], steps=1)


@pytest.mark.parametrize("repeats", [1, 3])
def test_ranks_of_arrays_that_are_read(one: MeshDevice, repeats: int) -> None:
    torch = pytest.importorskip("torch")
    x = sample(1, 1, repeats, 5)
    tensor = put(one, x)
    for rank in (2, 3, 4, 5):
        found = to_torch(tensor, torch_rank=rank)
        wanted = x.reshape(x.shape[max(0, 4 - rank) :])
        assert found.shape == wanted.shape and np.array_equal(found.numpy(), wanted)
    for dtype in (torch.float16, torch.float64, torch.int32):
        found = to_torch(tensor, dtype)
        assert found.dtype == dtype and torch.equal(found, torch.from_numpy(x).to(dtype))


def test_numbers_in_tiles_of_another_type(one: MeshDevice) -> None:
    x = rounded(sample(33, 50), BF16)
    for dtype in (F32, BFP8):
        found = call("to_layout", put(one, x, BF16, ROW), TILE, dtype)
        assert found.dtype is dtype and np.array_equal(held(found), held(put(one, x, dtype)))
        found = call("tilize_with_val_padding", put(one, x, BF16, ROW), [64, 64], 0.0, dtype=dtype)
        assert found.dtype is dtype and np.array_equal(held(found)[:33, :50], held(put(one, x, dtype)))
        found = call("to_memory_config", put(one, x, BF16), L1_MEMORY_CONFIG, dtype)
        assert found.dtype is dtype and np.array_equal(held(found), held(put(one, x, dtype)))
    for layout in (ROW, TILE):
        found = call("from_buffer", [1.0, 2.5, 3.0, 4.0, 5.0, 6.0], (2, 3), BF16, one, layout)
        assert found.layout is layout and held(found).tolist() == [[1, 2.5, 3], [4, 5, 6]]


def test_likenesses_of_another_type_and_in_a_room(one: MeshDevice) -> None:
    like = put(one, sample(3, 33), BF16)
    for name, value in (("zeros_like", 0), ("ones_like", 1)):
        for dtype in (F32, I32, BFP8):
            found = call(name, like, dtype=dtype)
            assert found.dtype is dtype and (held(found) == value).all()
        room = put(one, np.full((3, 33), 9), BF16)
        found = call(name, like, optional_tensor=room)
        assert found.storage is room.storage and (held(room) == value).all()


ROOMS: dict[str, tuple[Callable[[MeshDevice], tuple[list[Any], dict[str, Any]]], str]] = {
    "unary_chain": (lambda one: ([put(one, sample(33, 50)), [UnaryWithParam(UnaryOpType.ABS)]], {}), "output_tensor"),
    "bitcast": (lambda one: ([put(one, sample(32, 64)), U32], {}), "output_tensor"),
    "to_memory_config": (lambda one: ([put(one, sample(32, 64)), L1_MEMORY_CONFIG], {}), "output_tensor"),
    "moreh_linear": (lambda one: ([put(one, sample(2, 32, 64), BF16), put(one, sample(32, 64, seed=1), BF16)], {}), "output"),
    "matmul_batched_weights": (lambda one: ([put(one, sample(32, 32)), [put(one, sample(32, 64, seed=1))]], {}), "optional_output_tensor"),
    "embedding_bw": (
        lambda one: ([put(one, [[1, 3, 0, 3] * 8], U32, ROW), put(one, np.zeros((8, 32)), BF16, ROW), put(one, sample(1, 1, 32, 32), BF16)], {}),
        "output_tensor",
    ),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("name", ROOMS)
def test_rooms_hold_what_is_made(one: MeshDevice, name: str) -> None:
    pytest.importorskip("torch")
    given, word = ROOMS[name]
    arguments, words = given(one)
    plain = call(name, *arguments, **words)
    plain = plain[0] if isinstance(plain, list) else plain
    room = put(one, np.full(plain.shape.dims, 9), plain.dtype, plain.layout)
    if name == "to_memory_config":
        room = call(name, room, L1_MEMORY_CONFIG)
    found = call(name, *arguments, **words, **{word: room})
    found = found[0] if isinstance(found, list) else found
    assert found.storage is room.storage
    assert held(room).tobytes() == held(plain).tobytes() and (held(plain) != 9).any()


def test_sorted_into_rooms(one: MeshDevice) -> None:
    x = put(one, sample(2, 3, 64), BF16)
    plain = call("sort", x)
    rooms = tuple(put(one, np.full((2, 3, 64), 9), part.dtype) for part in plain)
    found = call("sort", x, out=rooms)
    for room, part, wanted in zip(rooms, found, plain, strict=True):
        assert part.storage is room.storage and held(room).tobytes() == held(wanted).tobytes()


@pytest.mark.torch
@pytest.mark.parametrize("name", ["conv1d", "conv_transpose2d"])
@pytest.mark.parametrize("dtype", [F32, BF16, BFP8])
def test_convolutions_in_another_type(one: MeshDevice, name: str, dtype: DataType) -> None:
    torch = pytest.importorskip("torch")
    flat = name == "conv1d"
    x = np.rint(sample(2, 16, 8) if flat else sample(2, 5, 6, 8)) / 4
    w = np.rint(sample(12, 8, 3, seed=1) if flat else sample(8, 12, 3, 3, seed=1)) / 4
    words: dict[str, Any] = {"in_channels": 8, "out_channels": 12, "batch_size": 2, "device": one}
    words |= (
        {"input_length": 16, "kernel_size": 3}
        if flat
        else {"input_height": 5, "input_width": 6, "kernel_size": (3, 3)}
    )
    found = call(
        name, input_tensor=put(one, x, F32, ROW), weight_tensor=put(one, w, F32, ROW), dtype=dtype, **words
    )
    order = (0, 2, 1) if flat else (0, 3, 1, 2)
    image, filters = torch.from_numpy(x.transpose(order)).double(), torch.from_numpy(w).double()
    wide = (
        torch.nn.functional.conv1d(image, filters)
        if flat
        else torch.nn.functional.conv_transpose2d(image, filters)
    )
    wanted = np.moveaxis(wide.numpy(), 1, -1).reshape(1, 1, -1, 12)
    assert found.dtype is dtype and np.array_equal(held(found), held(put(one, wanted, dtype)))


@pytest.mark.torch
@pytest.mark.parametrize("dilation", [(1, 2), (3, 1), (2, 2)])
def test_transposed_convolutions_dilated(one: MeshDevice, dilation: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    x, w = sample(2, 5, 6, 8), sample(8, 12, 3, 3, seed=1)
    found, size = call(
        "conv_transpose2d", input_tensor=put(one, x, F32, ROW), weight_tensor=put(one, w, F32, ROW), device=one, in_channels=8,
        out_channels=12, batch_size=2, input_height=5, input_width=6, kernel_size=(3, 3), stride=(2, 1), padding=(1, 1),
        dilation=dilation, return_output_dim=True,
    )  # fmt: skip
    wide = torch.nn.functional.conv_transpose2d(
        torch.from_numpy(x.transpose(0, 3, 1, 2)).double(),
        torch.from_numpy(w).double(),
        stride=(2, 1),
        padding=1,
        dilation=dilation,
    )
    assert tuple(size) == tuple(wide.shape[2:])
    near(found, wide.permute(0, 2, 3, 1).reshape(1, 1, -1, 12).numpy(), steps=64)


@pytest.mark.torch
def test_filters_of_one_dimension_come_back(one: MeshDevice) -> None:
    pytest.importorskip("torch")
    x, w, bias = sample(2, 16, 8), sample(12, 8, 3, seed=1), sample(1, 1, 1, 12, seed=2)
    words: dict[str, Any] = {
        "input_tensor": put(one, x, F32, ROW), "device": one, "in_channels": 8, "out_channels": 12, "batch_size": 2,
        "input_length": 16, "kernel_size": 3,
    }  # fmt: skip
    plain = call("conv1d", weight_tensor=put(one, w, F32, ROW), bias_tensor=put(one, bias, F32, ROW), **words)
    found, (weights, biases) = call(
        "conv1d",
        weight_tensor=put(one, w, F32, ROW),
        bias_tensor=put(one, bias, F32, ROW),
        return_weights_and_bias=True,
        **words,
    )
    again = call("conv1d", weight_tensor=weights, bias_tensor=biases, **words)
    assert held(found).tobytes() == held(plain).tobytes() == held(again).tobytes()


@pytest.mark.torch
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_pools_in_blocks(one: MeshDevice, name: str) -> None:
    pytest.importorskip("torch")
    x = np.rint(sample(1, 1, 64, 32) * 8)
    image = x.reshape(4, 2, 4, 2, 32)
    found = call(
        name, input_tensor=put(one, x, BF16), batch_size=1, input_h=8, input_w=8, channels=32, kernel_size=(2, 2), stride=(2, 2),
        padding=(0, 0), dtype=BFP8, output_layout=TILE, **({"dilation": (1, 1)} if name == "max_pool2d" else {}),
    )  # fmt: skip
    wanted = (np.max if name == "max_pool2d" else np.mean)(image, axis=(1, 3)).reshape(1, 1, 16, 32)
    assert found.dtype is BFP8
    near(found, wanted, steps=1)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["geglu", "bias_gelu_bw"])
def test_forms_of_gelu(one: MeshDevice, name: str) -> None:
    torch = pytest.importorskip("torch")
    x, gradient, bias = sample(1, 1, 32, 128), sample(1, 1, 32, 128, seed=1), sample(1, 1, 32, 128, seed=2)
    results = []
    for variant, word in ((GeluVariant.Accurate, "none"), (GeluVariant.Tanh, "tanh")):
        if name == "geglu":
            found = call(name, put(one, x), -1, variant=variant)
            half, gate = torch.from_numpy(x).double().chunk(2, -1)
            wanted = half * torch.nn.functional.gelu(gate, approximate=word)
        else:
            found = call(
                name, put(one, gradient, BF16), put(one, x, BF16), put(one, bias, BF16), variant=variant
            )[0]
            sides = [torch.from_numpy(rounded(a, BF16)).double() for a in (x, bias, gradient)]
            inner = (sides[0] + sides[1]).requires_grad_()
            torch.nn.functional.gelu(inner, approximate=word).backward(sides[2])
            wanted = inner.grad
        near(found, wanted.numpy(), steps=4)
        results.append(held(found))
    assert not np.array_equal(results[0], results[1])


@pytest.mark.torch
def test_types_that_change_nothing(one: MeshDevice) -> None:
    """The mean of whole images and the product of two vectors keep their operands' type, as in the reference."""
    images, row = put(one, sample(2, 8, 8, 32), BF16), put(one, sample(1, 1, 1, 32), BF16)
    for name, given in (("global_avg_pool2d", [images]), ("moreh_dot", [row, row])):
        plain = call(name, *given)
        for dtype in (F32, BFP8):
            found = call(name, *given, dtype=dtype)
            assert found.dtype is BF16 and held(found).tobytes() == held(plain).tobytes()


def test_types_that_are_no_result(one: MeshDevice) -> None:
    levels, x = put(one, np.ones((32, 64)), I32), put(one, sample(32, 64), BF16)
    room = put(one, np.ones((32, 64)), F32)
    whole, floats = (
        "int32, int8 or uint8 outputs for now, got DataType::",
        "Dequantize only supports bf16/f32 outputs for now",
    )
    table = [
        put(one, [[1, 3, 0, 3] * 8], U32, ROW),
        put(one, np.zeros((8, 32)), BF16, ROW),
        put(one, sample(1, 1, 32, 32), BF16),
    ]
    cases: list[tuple[str, list[Any], dict[str, Any], str]] = [
        ("quantize", [x, 0.5, 3], {"dtype": F32}, f"Quantize only supports {whole}FLOAT32"),
        ("quantize", [x, 0.5, 3], {"output_tensor": room}, f"Quantize only supports {whole}FLOAT32"),
        (
            "requantize",
            [levels, 0.25, 3, 0.5, -1],
            {"dtype": BFP8},
            f"Requantize only supports {whole}BFLOAT8_B",
        ),
        (
            "requantize",
            [levels, 0.25, 3, 0.5, -1],
            {"output_tensor": room},
            f"Requantize only supports {whole}FLOAT32",
        ),
        ("dequantize", [levels, 0.5, 3], {"dtype": I32}, floats),
        ("embedding_bw", table, {"dtype": F32}, "Output and input gradient tensors must have the same dtype"),
    ]
    for name, given, words, refusal in cases:
        with pytest.raises(RuntimeError, match=refusal):
            call(name, *given, **words)
    for dtype in (I32, U8):
        found = call("requantize", put(one, [[3, 5, 9, 13]], I32), 0.25, 3, 0.5, 1, dtype=dtype)
        assert found.dtype is dtype and held(found).tolist() == [[1, 2, 4, 6]]


@pytest.mark.parametrize("dtype", [U32, F32, BF16])
def test_whole_numbers_in_another_type(one: MeshDevice, dtype: DataType) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.integers(1, 30, (3, 40)).astype(np.int32) for _ in range(2))
    for name, wanted in (
        ("gcd", np.gcd),
        ("lcm", np.lcm),
        ("logical_right_shift", lambda x, y: x * 1000 >> y),
    ):
        x = a * 1000 if name == "logical_right_shift" else a
        found = call(name, put(one, x, I32), put(one, b, I32), dtype=dtype)
        assert found.dtype is dtype
        assert np.array_equal(held(found), held(put(one, wanted(a, b), dtype))), name


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [F32, BFP8])
def test_floats_in_another_type(one: MeshDevice, dtype: DataType) -> None:
    torch = pytest.importorskip("torch")
    a, b = (rounded(np.abs(sample(32, 64, seed=s)) + 0.5, BF16) for s in (1, 2))
    x, y = (torch.from_numpy(t).double() for t in (a, b))
    for name, wanted in (
        ("xlogy", torch.xlogy(x, y)),
        ("squared_difference", (x - y) ** 2),
        ("bias_gelu", torch.nn.functional.gelu(x + y)),
        ("matmul_batched_weights", None),
    ):
        if wanted is None:
            wide = x[:, :32] @ y[:32]
            found = call(name, put(one, a[:, :32], BF16), [put(one, b[:32], BF16)], dtype=dtype)[0]
            near(found, wide.numpy(), steps=1)
        else:
            found = call(name, put(one, a, BF16), put(one, b, BF16), dtype=dtype)
            scale = float(wanted.max())
            assert np.abs(held(found) - wanted.numpy()).max() <= scale * 2.0**-6, name
        assert found.dtype is dtype


def test_tensors_cut_over_cores_in_another_type(one: MeshDevice) -> None:
    x = rounded(sample(64, 64), BF16)
    place = MemoryConfig(
        TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1,
        ShardSpec(CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))}), [32, 64], ShardOrientation.ROW_MAJOR),
    )  # fmt: skip
    for dtype in (F32, BFP8):
        cut = call("interleaved_to_sharded", put(one, x, BF16), place, dtype)
        assert cut.dtype is dtype and cut.is_sharded() and np.array_equal(held(cut), held(put(one, x, dtype)))
        whole = call(
            "sharded_to_interleaved",
            call("interleaved_to_sharded", put(one, x, BF16), place),
            output_dtype=dtype,
        )
        assert whole.dtype is dtype and np.array_equal(held(whole), held(put(one, x, dtype)))


@pytest.mark.torch
def test_groups_normalised_with_masks_and_in_one_pass(one: MeshDevice) -> None:
    """The masks are of the device's tiles, and both ways are the same mean and deviation."""
    x = rounded(sample(1, 1, 64, 64), BF16)
    plain = call(
        "group_norm",
        put(one, x, BF16, TILE),
        num_groups=2,
        epsilon=1e-5,
        inplace=False,
        core_grid=CoreGrid(y=1, x=1),
    )
    groups = x.astype(np.float64).reshape(64, 2, 32)
    mean, deviation = groups.mean((0, 2), keepdims=True), groups.std((0, 2), keepdims=True)
    near(plain, ((groups - mean) / np.sqrt(deviation**2 + 1e-5)).reshape(x.shape), steps=2)
    mask = put(one, np.ones((1, 2, 32, 32)), BF16)
    others: list[dict[str, Any]] = [
        {"use_welford": True},
        {"input_mask": mask},
        {"dtype": BF16},
        {"num_out_blocks": 1},
    ]
    for words in others:
        found = call(
            "group_norm",
            put(one, x, BF16, TILE),
            num_groups=2,
            epsilon=1e-5,
            inplace=False,
            core_grid=CoreGrid(y=1, x=1),
            **words,
        )
        assert held(found).tobytes() == held(plain).tobytes(), words


def test_arrays_turned_and_filled_before_their_blocks(one: MeshDevice) -> None:
    x = sample(32, 64) * np.exp2(np.arange(64) % 16)
    turned = call("from_torch", x, dtype=BFP8, device=one, col_tilize=True)
    assert held(turned).tobytes() == held(put(one, x.T, BFP8)).tobytes()
    short = sample(3, 5)
    filled = call("from_torch", short, dtype=BFP8, layout=TILE, device=one, pad_value=100.0)
    whole = np.full((32, 32), 100, np.float32)
    whole[:3, :5] = short
    assert np.array_equal(held(filled), held(put(one, whole, BFP8))[:3, :5])
    assert not np.array_equal(held(filled), held(put(one, short, BFP8)))


@pytest.mark.torch
@pytest.mark.parametrize("flags", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("bias", [False, True])
def test_sparse_products_of_either_operand(one: MeshDevice, flags: tuple[bool, bool], bias: bool) -> None:
    pytest.importorskip("torch")
    of_a, of_b = flags
    a = sample(1, 4, 32, 64) if of_a else sample(1, 3, 32, 64)
    b, added = sample(1, 4, 64, 32, seed=1), sample(1, 4, 32, 32, seed=2)
    chosen = (
        np.array([[[[1.0, 0.0, 1.0, 1.0]]]]) if of_a else np.array([1.0, 0, 0, 1] * 3).reshape(1, 3, 1, 4)
    )
    found = call(
        "sparse_matmul", put(one, a), put(one, b), sparsity=put(one, chosen, BF16, ROW), is_input_a_sparse=of_a, is_input_b_sparse=of_b,
        program_config=PROGRAM, dtype=BF16, **({"bias": put(one, added)} if bias else {}),
    )  # fmt: skip
    wide = a.astype(np.float64) @ b if of_a else a.astype(np.float64)[:, :, None, None] @ b[0]
    wide = wide + added if bias else wide
    wanted = np.where(chosen.reshape(wide.shape[:-2])[..., None, None] != 0, wide, 0)
    assert found.dtype is BF16
    near(found, wanted, steps=1)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["softmax", "softmin", "logsoftmax"])
def test_softmaxes_of_moreh_go_into_tensors_made_for_them(one: MeshDevice, name: str) -> None:
    torch = pytest.importorskip("torch")
    x = rounded(sample(1, 1, 32, 64), BF16)
    wide = torch.from_numpy(-x if name == "softmin" else x).double()
    wanted = (torch.log_softmax if name == "logsoftmax" else torch.softmax)(wide, -1).numpy()
    near(call(f"moreh_{name}", put(one, x, BF16), 3), wanted, steps=1)
    room = put(one, np.full(x.shape, 9), BF16)
    found = call(f"moreh_{name}", put(one, x, BF16), 3, output_tensor=room)
    assert found.storage is room.storage
    near(room, wanted, steps=1)
