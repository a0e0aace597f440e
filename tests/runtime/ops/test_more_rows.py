"""Indexing, losses, statistics, quantization, complex and random tensors, layouts with padding: against golden functions or by hand."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.golden import check, compare
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, U8, U16, U32, held, message, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.elementwise.bcast import BcastOpDim, BcastOpMath
from tt_run.runtime.ops.elementwise.complex_numbers import COMPLEX, ComplexTensor
from tt_run.runtime.ops.reduction.losses import LossReductionMode
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG
from tt_run.runtime.tools.golden import get_golden_function

pytestmark = pytest.mark.torch
INT8 = DataType.INT8


def call(name: str, *arguments: Any, **keywords: Any) -> Any:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None, name
    return operation(*arguments, **keywords)


def sample(*shape: int, seed: int = 0, low: float = -2, high: float = 2) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def by_golden(name: str, found: Any, *arguments: Any, steps: float = 4, **keywords: Any) -> None:
    """A result against the golden function of float64 and int64 arguments."""
    torch = pytest.importorskip("torch")
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None, name
    wide = [
        torch.from_numpy(a.astype(np.float64 if a.dtype.kind == "f" else np.int64))
        if isinstance(a, np.ndarray)
        else a
        for a in arguments
    ]
    compare(found, get_golden_function(operation)(*wide, **keywords).numpy(), steps)


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("mode", list(LossReductionMode))
@pytest.mark.parametrize("name", ["l1_loss", "mse_loss"])
def test_losses(one: MeshDevice, name: str, mode: LossReductionMode, dtype: DataType):
    check(one, name, [sample(2, 3, 33), sample(2, 3, 33, seed=1)], dtype=dtype, reduction=mode)


@pytest.mark.filterwarnings("ignore:Using a target size:UserWarning")
@pytest.mark.parametrize("name", ["l1_loss", "mse_loss"])
def test_losses_of_tensors_that_broadcast(one: MeshDevice, name: str):
    for mode in LossReductionMode:
        check(one, name, [sample(2, 3, 33), sample(3, 1, seed=1)], reduction=mode)


@pytest.mark.parametrize("name", ["normalize_hw", "normalize_global", "var_hw", "std_hw"])
def test_statistics_of_matrices(one: MeshDevice, name: str):
    rows = 32 if name == "normalize_global" else 33
    check(one, name, [sample(2, 3, rows, 64)], steps=16)
    check(one, name, [sample(2, 3, rows, 64)], dtype=BF16)
    with pytest.raises(RuntimeError, match=r"BFLOAT16.* got DataType::BFLOAT4_B"):
        call(name, put(one, sample(2, 3, 32, 64), DataType.BFLOAT4_B))


def test_the_padding_of_tiles_is_normalized_with_the_rest(one: MeshDevice):
    x = sample(2, 3, 33, 40)
    found = call("normalize_global", put(one, x, DataType.FLOAT32))
    padded = np.pad(x, [(0, 0), (0, 0), (0, 31), (0, 24)])
    assert tuple(found.shape) == padded.shape
    assert np.allclose(held(found), (padded - padded.mean()) / padded.std(), atol=1e-4)
    rows = call("normalize_global", put(one, x, DataType.FLOAT32, Layout.ROW_MAJOR))
    assert np.allclose(held(rows), (x - x.mean()) / x.std(), atol=1e-4)


def test_means_of_all_matrices_are_not_of_blocks(one: MeshDevice):
    blocks = DataType.BFLOAT8_B
    with pytest.raises(RuntimeError, match="must be BFLOAT16 or FLOAT32 but got DataType::BFLOAT8_B"):
        call("normalize_global", put(one, sample(2, 3, 32, 64), blocks))
    x = sample(1, 1, 32, 64)
    found = held(call("normalize_global", put(one, x, blocks)))
    assert np.allclose(found, (x - x.mean()) / x.std(), atol=0.05)


def test_the_gradient_of_an_assignment_is_of_tensors(one: MeshDevice):
    g, x = put(one, sample(4, 4), BF16), put(one, sample(4, 4), BF16)
    with pytest.raises(TypeError, match="input_tensor_b"):
        call("assign_bw", g, x, 2.0)


def test_moving_average(one: MeshDevice):
    check(one, "ema", [sample(1, 2, 3, 40)], 0.75, dtype=BF16)
    steps = held(call("ema", put(one, np.full((1, 1, 1, 3), 4), BF16), 0.25)).reshape(-1)
    assert steps.tolist() == [3, 3.75, 3.9375]  # nothing comes before the first element


def test_correlation(one: MeshDevice):
    x = sample(4, 5)
    assert call("pearson_correlation_coefficient", x, put(one, x, BF16)) == pytest.approx(1, abs=1e-4)
    assert call("pearson_correlation_coefficient", x, 3 * x + 1) == pytest.approx(1)
    assert call("pearson_correlation_coefficient", x, -x) == pytest.approx(-1)
    assert call("pearson_correlation_coefficient", np.ones(3), np.ones(3)) == 1
    assert call("pearson_correlation_coefficient", np.ones(3), np.zeros(3)) == 0
    assert call("pearson_correlation_coefficient", x, np.ones((4, 5))) == 0


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles(one: MeshDevice, name: str):
    check(one, name, [sample(2, 5, 7)], steps=0)
    check(one, name, [sample(2, 5, 7)], diagonal=-1, steps=0)


def test_parts_and_rotations(one: MeshDevice):
    check(one, "narrow", [sample(32, 1, 3, 7)], 0, 24, 3, steps=0)
    check(one, "alt_complex_rotate90", [sample(2, 3, 5, 8)], steps=0)
    with pytest.raises(
        RuntimeError, match="Narrow length 3 out of bounds for dimension 1 with start index 3 and size 5"
    ):
        call("narrow", put(one, sample(1, 5), F32, ROW), 1, 3, 3)


def test_filled_rectangles(one: MeshDevice):
    like = put(one, sample(1, 1, 4, 4), BF16, ROW)
    found = held(call("fill_rm", 2, 1, 4, 5, 2, 3, like, 2.0, -1.0))
    assert found.shape == (2, 1, 4, 5)
    assert (found[:, :, :2, :3] == 2).all()
    assert found.sum() == 2 * (6 * 2 - 14)
    assert held(call("fill_ones_rm", 1, 1, 4, 5, 2, 3, like)).sum() == 6


def test_index_tensors(one: MeshDevice):
    x, places = sample(4, 6), np.array([3, 1], np.int64)
    tensor, index = put(one, x, F32, ROW), put(one, places, U32, ROW)
    for name in ("index_fill", "index_fill_new"):
        by_golden(name, call(name, tensor, 1, index, 7.0), x, 1, places, 7.0, steps=0)
    pages, values = x.reshape(4, 1, 1, 6), sample(2, 1, 1, 6, seed=1)
    found = call("indexed_fill", index, put(one, pages, F32, ROW), put(one, values, F32, ROW))
    by_golden("indexed_fill", found, places, pages, values, steps=0)
    for a, b, words in (
        (tensor, put(one, x[:2], F32, ROW), "only rank-4 tensors are supported; got rank 2"),
        (put(one, pages, F32, ROW), put(one, values), "Inputs must be same layout"),
        (
            put(one, pages),
            put(one, pages),
            r"input_b.size\(0\) = 4 must equal the number of indices \(batch_id count = 2\)",
        ),
    ):
        with pytest.raises(RuntimeError, match=words):
            call("indexed_fill", index, a, b)
    with pytest.raises(RuntimeError, match="index 9 is out of range for a dimension of length 6"):
        call("index_fill", tensor, 1, put(one, [9], U32, ROW), 1.0)


def test_scatters(one: MeshDevice):
    x, source = sample(3, 5), sample(3, 4, seed=1)
    places = np.array([[0, 0, 4, 2], [1, 1, 1, 1], [3, 2, 1, 0]])
    tensor, src, index = put(one, x, F32, ROW), put(one, source, F32, ROW), put(one, places, U32, ROW)
    by_golden("scatter_add", call("scatter_add", tensor, 1, index, src), x, 1, places, source)
    y, rows, chosen = sample(2, 5, 3), sample(2, 2, 3, seed=2), np.array([[4, 0], [2, 3]])
    many, picked = put(one, y, F32, ROW), put(one, chosen, U32, ROW)
    by_golden("tosa_gather", call("tosa_gather", many, picked), y, chosen, steps=0)
    by_golden(
        "tosa_scatter", call("tosa_scatter", many, picked, put(one, rows, F32, ROW)), y, chosen, rows, steps=0
    )


@pytest.mark.parametrize("axis", [None, 1])
def test_quantized_integers(one: MeshDevice, axis: int | None):
    x = sample(2, 3, 5)
    scale = np.array([0.5, 0.25, 0.125], np.float32) if axis else 0.25
    zero = np.array([1, 2, 3], np.int32) if axis else 3
    levels = (put(one, scale, F32, ROW), put(one, zero, I32, ROW)) if axis else (scale, zero)
    small = call("quantize", put(one, x), *levels, axis=axis)
    assert small.dtype is I32
    by_golden("quantize", small, x, scale, zero, axis=axis)
    back = call("dequantize", small, *levels, axis=axis)
    assert back.dtype is BF16
    by_golden("dequantize", back, held(small).astype(np.float32), scale, zero, axis=axis, dtype=F32)
    if axis is None:
        again = call("requantize", small, 0.25, 3, 0.5, -1)
        by_golden("requantize", again, held(small).astype(np.float32), 0.25, 3, 0.5, -1)


def test_quantization_saturates(one: MeshDevice):
    big = put(one, [[1000.0, -1000.0, 3.5]])
    assert held(call("quantize", big, 1.0, 0, dtype=INT8)).tolist() == [[127, -128, 4]]
    assert held(call("quantize", big, 1.0, 0, dtype=U8)).tolist() == [[255, 0, 4]]


def test_integer_pairs(one: MeshDevice):
    a, b = np.array([[12, -18, 7, -1]], np.int32), np.array([[18, 12, 0, 4]], np.int32)
    ta, tb = put(one, a, I32, ROW), put(one, b, I32, ROW)
    assert held(call("gcd", ta, tb)).tolist() == [[6, 6, 7, 1]]
    assert held(call("lcm", ta, tb)).tolist() == [[36, 36, 0, 4]]
    assert held(call("logical_right_shift", ta, 1)).tolist() == [[6, 2147483639, 3, 2147483647]]
    assert held(call("logical_left_shift", ta, 2)).tolist() == [[48, -72, 28, -4]]
    assert held(call("logical_right_shift", ta, 32)).tolist() == [[0, 0, 0, 0]]


def test_forms_that_overwrite(one: MeshDevice):
    for name in (
        "gt_",
        "le_",
        "logical_xor_",
        "ldexp_",
        "logaddexp_",
        "squared_difference_",
        "rsub_",
        "bias_gelu_",
    ):
        x, y = sample(3, 5), sample(3, 5, seed=1)
        tensor = put(one, x, BF16)
        plain = held(call(name[:-1], put(one, x, BF16), put(one, y, BF16))).tolist()
        assert call(name, tensor, put(one, y, BF16)).storage is tensor.storage, name
        assert held(tensor).tolist() == plain, name
    tensor = put(one, [[0.0, 2.0]])
    assert call("logical_not_", tensor).storage is tensor.storage
    assert held(tensor).tolist() == [[1, 0]]
    assert catalog.find("ttnn.div_") is catalog.find("ttnn.divide_")


def test_bias_and_gelu(one: MeshDevice):
    torch = pytest.importorskip("torch")
    x, y = sample(3, 5), sample(1, 5, seed=1)
    wanted = torch.nn.functional.gelu(torch.from_numpy(x.astype(float) + y)).numpy()
    np.testing.assert_allclose(
        held(call("bias_gelu", put(one, x), put(one, y))), wanted, rtol=2e-6, atol=1e-7
    )


def test_named_broadcasts(one: MeshDevice):
    x, row, column = sample(1, 2, 4, 6), sample(1, 2, 1, 6, seed=1), sample(1, 2, 4, 1, seed=2)
    found = held(call("bcast", put(one, x), put(one, row), BcastOpMath.ADD, BcastOpDim.H))
    assert found.tolist() == (x + row).tolist()
    found = held(call("bcast", put(one, x), put(one, column), BcastOpMath.MUL, BcastOpDim.W))
    assert found.tolist() == (x * column).tolist()
    # Of a whole tile the first row, column or element counts.
    tile = sample(1, 2, 32, 32, seed=3)
    found = held(call("bcast", put(one, x), put(one, tile), BcastOpMath.SUB, BcastOpDim.HW))
    assert found.tolist() == (x - tile[..., :1, :1]).tolist()
    with pytest.raises(RuntimeError, match="must equal TILE_HEIGHT"):
        call("bcast", put(one, x), put(one, sample(1, 2, 33, 6)), BcastOpMath.SUB, BcastOpDim.HW)


@pytest.mark.parametrize("name", sorted(COMPLEX))
def test_complex_tensors(one: MeshDevice, name: str):
    torch = pytest.importorskip("torch")
    a, b = sample(2, 3, 4), sample(2, 3, 4, seed=1)
    a[0], b[1] = 0, 0
    z = call("complex_tensor", put(one, a), put(one, b))
    found = call(name, z)
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    wanted = get_golden_function(operation)(
        torch.complex(torch.from_numpy(a).double(), torch.from_numpy(b).double())
    )
    if isinstance(found, ComplexTensor):
        compare(found.real, wanted.real.numpy(), 4)
        compare(found.imag, wanted.resolve_conj().imag.numpy(), 4)
    else:
        compare(found, wanted.numpy().astype(np.float64), 4)


def test_what_is_not_complex_lists_the_signature(one: MeshDevice):
    with pytest.raises(
        TypeError, match=r"expected a ComplexTensor, got Tensor; ttnn.complex_tensor makes one"
    ):
        call("conj", put(one, sample(2, 2)))


def test_random_tensors(one: MeshDevice):
    x = call("randn", (64, 64), one, dtype=F32, seed=5)
    again = call("randn", (64, 64), one, dtype=F32, seed=5)
    assert held(x).tolist() == held(again).tolist()
    assert abs(float(held(x).mean())) < 0.1
    assert abs(float(held(x).std()) - 1) < 0.1
    other = call("randn", (64, 64), one, dtype=F32)
    assert held(x).tolist() != held(other).tolist()
    full = put(one, np.zeros((64, 64)))
    assert call("uniform", full, 2.0, 5.0, 3).storage is full.storage
    assert 2 <= held(full).min() < 2.1 < 4.9 < held(full).max() <= 5
    assert call("uniform", full, **{"from": -1.0, "to": 0.0}).storage is full.storage
    assert held(full).max() <= 0
    tossed = call("bernoulli", put(one, np.full((64, 64), 0.25), BF16), 7)
    assert tossed.dtype is F32
    coins = held(tossed)
    assert set(np.unique(coins)) == {0, 1}
    assert 0.2 < coins.mean() < 0.3


def test_layouts_with_padding(one: MeshDevice):
    x = sample(1, 1, 40, 33)
    rows = put(one, x, BF16, ROW)
    for tiles in (
        call("tilize_with_zero_padding", rows),
        call("tilize_with_val_padding", rows, [1, 1, 64, 64], 3.0),
        call("fill_implicit_tile_padding", put(one, x, BF16), 1.0),
    ):
        assert (tiles.layout, tiles.shape) == (TILE, (1, 1, 40, 33))
        assert held(tiles).tolist() == held(rows).tolist()
    back = call("untilize_with_unpadding", put(one, x, BF16), [0, 0, 31, 15])
    assert (back.layout, back.shape) == (Layout.ROW_MAJOR, (1, 1, 32, 16))
    assert held(back).tolist() == held(rows)[:, :, :32, :16].tolist()
    with pytest.raises(RuntimeError, match="must be greater than or equal to input shape"):
        call("tilize_with_val_padding", rows, [1, 1, 32, 64], 0.0)


def test_bits_taken_for_another_type(one: MeshDevice):
    one_half = put(one, [[1.0, -0.5]], F32, ROW)
    bits = call("bitcast", one_half, U32)
    assert held(bits).tolist() == [[0x3F800000, 0xBF000000]]
    assert held(call("bitcast", bits, F32)).tolist() == [[1.0, -0.5]]
    short = call("bitcast", put(one, [[1.0, -0.5]], BF16, ROW), U16)
    assert held(short).tolist() == [[0x3F80, 0xBF00]]
    assert held(call("bitcast", short, BF16)).tolist() == [[1.0, -0.5]]
    with pytest.raises(RuntimeError) as error:
        call("bitcast", one_half, BF16)
    assert (
        message(error.value)
        == "bitcast: DataType.FLOAT32 and DataType.BFLOAT16 are not types of the same size"
    )


def test_products_with_more(one: MeshDevice):
    x, a, b = sample(33, 40), sample(33, 64, seed=1), sample(64, 40, seed=2)
    check(one, "addmm", [x, a, b], alpha=0.5, beta=2.0, steps=32)
    first, second = call("matmul_batched_weights", put(one, a), [put(one, b), put(one, 2 * b)])
    assert held(second).tolist() == (2 * held(first)).tolist()


def test_moments_take_a_scale_of_the_elements(one: MeshDevice):
    x = sample(3, 40)
    np.testing.assert_allclose(
        held(call("var", put(one, x), -1, scalar=3.0)), held(call("var", put(one, 3 * x), -1)), rtol=1e-5
    )
    np.testing.assert_allclose(
        held(call("std", put(one, x), -1, scalar=-3.0)), held(call("std", put(one, 3 * x), -1)), rtol=1e-5
    )


def test_parts_of_rows_over_cores(one: MeshDevice):
    from tt_run.runtime.enums import ShardOrientation, TensorMemoryLayout
    from tt_run.runtime.tensor.spec.memory_config import CoreCoord

    x = sample(1, 1, 128, 64)
    part = call(
        "interleaved_to_sharded_partial",
        put(one, x, BF16),
        CoreCoord(1, 1),
        [64, 64],
        2,
        1,
        TensorMemoryLayout.HEIGHT_SHARDED,
        ShardOrientation.ROW_MAJOR,
    )
    assert part.shape == (1, 1, 64, 64)
    whole = put(one, np.zeros_like(x), BF16)
    assert call("sharded_to_interleaved_partial", part, whole, 2, 1).storage is whole.storage
    assert held(whole)[:, :, 64:].tolist() == held(part).tolist()
    assert held(whole)[:, :, :64].sum() == 0


@pytest.mark.parametrize(
    ("shard_shape", "slices", "message"),
    [([0, 64], 2, "shard_shape must be greater than 0"), ([64, 64], 0, "num_slices must be greater than 0")],
)
def test_parts_of_rows_need_an_extent(one: MeshDevice, shard_shape: list[int], slices: int, message: str):
    from tt_run.runtime.enums import ShardOrientation, TensorMemoryLayout
    from tt_run.runtime.tensor.spec.memory_config import CoreCoord

    x = put(one, sample(1, 1, 128, 64), BF16)
    how = TensorMemoryLayout.HEIGHT_SHARDED, ShardOrientation.ROW_MAJOR
    with pytest.raises(RuntimeError, match=message):
        call("interleaved_to_sharded_partial", x, CoreCoord(1, 1), shard_shape, slices, 0, *how)


@pytest.mark.parametrize("name", ["real", "imag", "angle", "conj", "polar", "abs", "reciprocal"])
def test_gradients_of_complex_tensors(one: MeshDevice, name: str):
    torch = pytest.importorskip("torch")
    a, b = sample(2, 3, 4, low=0.5), sample(2, 3, 4, seed=1)
    g, h = sample(2, 3, 4, seed=2), sample(2, 3, 4, seed=3)
    z = torch.complex(torch.from_numpy(a).double(), torch.from_numpy(b).double()).requires_grad_()
    forward = {"polar": lambda v: torch.polar(v.real, v.imag)}.get(name, getattr(torch, name))
    result = forward(z)
    grad = torch.complex(torch.from_numpy(g).double(), torch.from_numpy(h).double())
    (wanted,) = torch.autograd.grad(result, [z], grad if result.is_complex() else grad.real)
    given = call("complex_tensor", put(one, g), put(one, h)) if result.is_complex() else put(one, g)
    z = call("complex_tensor", put(one, a), put(one, b))
    (found,) = call(f"{name}_bw", given, input_tensor=z, memory_config=L1_MEMORY_CONFIG)
    stays = {"real": "real", "conj": "real", "imag": "imag"}.get(name)
    for part in ("real", "imag"):
        wanted_place = DRAM_MEMORY_CONFIG if part == stays else L1_MEMORY_CONFIG
        assert getattr(found, part).memory_config() == wanted_place
    compare(found.real, wanted.resolve_conj().real.numpy(), 16)
    compare(found.imag, wanted.resolve_conj().imag.numpy(), 16)


def test_complex_tensors_are_taken_as_soon_as_there_are_some():
    """In a process of its own: here the modules of operations are loaded already."""
    program = (
        "from tt_run.runtime import catalog\n"
        "from tt_run.runtime.mesh import MeshShape, open_mesh_device\n"
        "from tt_run.runtime.tensor.creation.from_shape import ones\n"
        "x = ones((1, 1, 32, 32), device=open_mesh_device(MeshShape(1, 1)))\n"
        "z = catalog.find('ttnn.complex_tensor')(x, x)\n"
        "print(catalog.find('ttnn.abs')(z, memory_config=x.memory_config()).shards.data.max())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("1.4"), done.stderr


def test_plain_functions_of_complex_tensors(one: MeshDevice):
    a, b = sample(2, 3, low=0.5), sample(2, 3, seed=1)
    z = call("complex_tensor", put(one, a), put(one, b))
    placed = {"input_tensor": z, "memory_config": DRAM_MEMORY_CONFIG}
    np.testing.assert_allclose(held(call("abs", **placed)), np.abs(a + 1j * b), rtol=1e-6)
    found = call("reciprocal", **placed)
    for name, *more in (("abs",), ("reciprocal",), ("mul_bw", z, z), ("div_bw", z, z)):
        with pytest.raises(TypeError, match="memory_config must be given for complex tensors"):
            call(name, z, *more)
    wanted = 1 / (a.astype(complex) + 1j * b)
    np.testing.assert_allclose(held(found.real), wanted.real, rtol=1e-5)
    np.testing.assert_allclose(held(found.imag), wanted.imag, rtol=1e-5)
    assert held(call("abs", put(one, -a))).tolist() == a.tolist()


def test_where_the_parts_of_complex_tensors_lie(one: MeshDevice):
    z = call("complex_tensor", put(one, np.ones((32, 32))), put(one, np.ones((32, 32))))
    found = call("conj", z, memory_config=L1_MEMORY_CONFIG)
    assert [part.memory_config() for part in (found.real, found.imag)] == [
        DRAM_MEMORY_CONFIG,
        L1_MEMORY_CONFIG,
    ]
    first, second = call(
        "add_bw", grad_tensor=z, input_tensor_a=z, input_tensor_b=z, alpha=2.0, memory_config=L1_MEMORY_CONFIG
    )
    assert [z.real.memory_config() for z in (first, second)] == [DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG]
    whole = call("complex_tensor", *[put(one, np.ones((32, 32)), I32)] * 2)
    for name, said in (("angle", "ATAN2"), ("polar", "UnaryOpType::COS")):
        with pytest.raises(RuntimeError, match=said):
            call(name, whole)


@pytest.mark.parametrize("training", [False, True])
def test_batches_are_normalised_by_channel(one: MeshDevice, training: bool):
    torch = pytest.importorskip("torch")
    x = sample(4, 3, 5, 6)
    names = ("running_mean", "running_var", "weight", "bias")
    arrays = {n: sample(1, 3, 1, 1, seed=i, low=0.5) for i, n in enumerate(names)}
    tensors = {n: put(one, v) for n, v in arrays.items()}
    found = call("batch_norm", put(one, x), training=training, **tensors)
    stats = [torch.from_numpy(arrays[n].reshape(-1)).double() for n in names]
    wanted = torch.nn.functional.batch_norm(torch.from_numpy(x).double(), *stats, training=training)
    compare(found, wanted.numpy(), 16)
    compare(tensors["running_mean"], stats[0].reshape(1, 3, 1, 1).numpy(), 8)
    compare(tensors["running_var"], stats[1].reshape(1, 3, 1, 1).numpy(), 8)
    with pytest.raises(RuntimeError, match="must be defined in evaluation mode"):
        call("batch_norm", put(one, x))
    alone = put(one, np.zeros((1, 3, 1, 1)))
    call("batch_norm", put(one, x), training=True, running_mean=alone)
    compare(alone, 0.1 * x.mean((0, 2, 3)).reshape(1, 3, 1, 1), 8)


def test_images_are_turned(one: MeshDevice):
    pytest.importorskip("torch")
    x = sample(1, 4, 4, 32)
    for mode in ("nearest", "bilinear"):
        quarter = held(call("rotate", put(one, x, F32, ROW), 90.0, interpolation_mode=mode))
        np.testing.assert_allclose(quarter, np.rot90(x, 1, axes=(1, 2)), atol=1e-5)
    corner = held(call("rotate", put(one, x, F32, ROW), 45.0, fill=7.0))[0, 0, 0]
    assert (corner == 7).all()
    with pytest.raises(RuntimeError, match="Only same-size rotation"):
        call("rotate", put(one, x, F32, ROW), 45.0, expand=True)


@pytest.mark.parametrize("dtype", [BF16, F32])
@pytest.mark.parametrize(
    ("low", "high"),
    [(1.001, 2.0), (-2.0, -1.001), (1.001, 1.012), (0.0, 5e-7), (-float(np.finfo(np.float32).tiny), 0.0)],
)
def test_random_numbers_stay_within_their_bounds(one: MeshDevice, dtype: DataType, low: float, high: float):
    found = held(call("uniform", put(one, np.zeros((64, 64)), dtype), low, high, 17)).astype(float)
    assert low <= found.min()
    assert found.max() < high


def test_random_numbers_are_refused(one: MeshDevice):
    with pytest.raises(RuntimeError, match="Uniform: Input tensor must be Float32 or Bfloat16"):
        call("uniform", put(one, np.ones((32, 32)), BFP8))
    with pytest.raises(RuntimeError, match=r"must be less than upper bound, got \[1, 1\)"):
        call("uniform", put(one, np.ones((32, 32))), 1.0, 1.0)
    with pytest.raises(
        RuntimeError, match=r"\[1.001, 1.002\) contains no value representable in the output dtype"
    ):
        call("uniform", put(one, np.ones((32, 32)), BF16), 1.001, 1.002)
    with pytest.raises(RuntimeError, match="is too wide for a finite FP32 scale"):
        call("rand", (32, 32), one, low=-3e38, high=3e38)
    with pytest.raises(TypeError, match="seed must be a whole number from 0, got -1"):
        call("bernoulli", put(one, np.ones((32, 32))), -1)
    with pytest.raises(RuntimeError, match="Dropout operation requires tensor to be in Tile layout"):
        call("experimental.dropout", put(one, np.ones((64, 64)), BF16, ROW), 0.25, 4 / 3, 11)


def test_what_is_a_kernel_is_refused_with_a_sentence(one: MeshDevice):
    with pytest.raises(RuntimeError) as error:
        call("generic_op", [put(one, sample(2, 2))], object())
    assert message(error.value) == "ttnn.generic_op is not emulated: it runs a kernel of the program's own"
    assert call("experimental.is_tensor_prefetcher_supported", one) is False


def test_spectra(one: MeshDevice):
    x, y = sample(2, 24), sample(2, 24, seed=1)
    real, imag = call("experimental.fft", put(one, x, F32, ROW))
    wanted = np.fft.fft(x.astype(float))
    np.testing.assert_allclose(held(real), wanted.real, atol=1e-5)
    np.testing.assert_allclose(held(imag), wanted.imag, atol=1e-5)
    back, none = call("experimental.ifft", real, imag)
    np.testing.assert_allclose(held(back), x, atol=1e-6)
    assert np.abs(held(none)).max() < 1e-6
    quick, _ = call("experimental.ifft", real, imag, precision="fast")
    assert np.array_equal(held(quick), held(back))
    with pytest.raises(RuntimeError, match="precision must be 'precise' or 'fast'"):
        call("experimental.ifft", real, imag, precision="quick")
    real, imag = call("experimental.fft", put(one, x, F32, ROW), put(one, y, F32, ROW), "fast")
    np.testing.assert_allclose(held(real), np.fft.fft(x + 1j * y.astype(float)).real, atol=1e-5)
    product = (x + 1j * y) * (y - 1j * x)
    found = call("experimental.complex_mul", *(put(one, v, F32, ROW) for v in (x, y, y, -x)))
    np.testing.assert_allclose(held(found[0]), product.real, atol=1e-6)
    np.testing.assert_allclose(held(found[1]), product.imag, atol=1e-6)
    check(one, "experimental.intimg", [sample(1, 5, 7, 3)], steps=32)


def test_small_experiments(one: MeshDevice):
    check(one, "experimental.rotate_half", [sample(2, 3, 64)], steps=0)
    check(one, "experimental.transpose_rm", [sample(2, 32, 64)], layout=ROW, steps=0)
    x = sample(2, 1, 5)
    assert (
        held(call("experimental.broadcast_to", put(one, x), (2, 3, 5))).tolist()
        == np.broadcast_to(x, (2, 3, 5)).tolist()
    )
    ids = np.array([[1, 5, 7]])
    found = call("experimental.isin", put(one, ids, I32, ROW), put(one, [5, 9], I32, ROW))
    assert (found.dtype, held(found).tolist()) == (U32, [[0, 0xFFFFFFFF, 0]])
    dropped = held(call("experimental.dropout", put(one, np.ones((64, 64)), BF16), 0.25, 1.5, 11))
    assert set(np.unique(dropped)) == {0, 1.5}
    assert 0.2 < (dropped == 0).mean() < 0.3
    assert not held(call("experimental.dropout", put(one, np.ones((64, 64)), BF16), 1.0, 1.5, 11)).any()
    with pytest.raises(RuntimeError, match="a probability from 0 to 1 is needed, got 2"):
        call("experimental.dropout", put(one, np.ones((64, 64)), BF16), 2.0, 1.5, 11)


def test_each_device_drops_places_of_its_own(mesh: MeshDevice):
    x = put(mesh, np.ones((32, 32)), BF16)
    drop = partial(call, "experimental.dropout", x, 0.5, 2.0)
    alone = [held(drop(11 + number, use_per_device_seed=False), number).tobytes() for number in range(8)]
    assert len(set(alone)) == 8
    assert [held(drop(11), number).tobytes() for number in range(8)] == alone
    assert len({held(drop(11, use_per_device_seed=False), number).tobytes() for number in range(8)}) == 1
    assert len({held(drop((1 << 32) - 2), number).tobytes() for number in range(8)}) == 8


def test_a_norm_over_devices_in_one(mesh: MeshDevice):
    x, w, r = sample(1, 1, 32, 256), sample(1, 256, seed=1), sample(1, 1, 32, 256, seed=2)
    half = np.concatenate([x, x], axis=-1)
    pieces = put(mesh, np.concatenate([x[..., :128], x[..., 128:]] * 4, axis=-1), shard=3)
    assert half.shape[-1] == 512
    weight = put(mesh, np.concatenate([w, w, w, w], axis=-1), shard=1)
    rest = put(mesh, np.concatenate([r[..., :128], r[..., 128:]] * 4, axis=-1), shard=3)
    y = call(
        "fused_rms_minimal",
        pieces,
        None,
        1,
        mesh,
        None,
        weight=weight,
        epsilon=1e-5,
        residual_input_tensor=rest,
    )
    total = (np.concatenate([x] * 4, axis=-1) + np.concatenate([r] * 4, axis=-1)).astype(float)[..., :512]
    wanted = total / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-5) * np.concatenate([w, w], axis=-1)
    found = np.concatenate([held(y, device) for device in range(4)], axis=-1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert held(rest).tolist() == (x + r)[..., :128].tolist()
