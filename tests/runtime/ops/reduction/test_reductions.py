"""Reductions and choices of elements, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, U16, U32, held, near, put, rounded
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG

DIMS: list[Any] = [None, 0, -1, 1, (0, 2), [1, 2], (0, 1, 2)]
REFERENCE = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "var": lambda x, axis, keepdims: np.var(x, axis=axis, keepdims=keepdims, ddof=1),
    "std": lambda x, axis, keepdims: np.std(x, axis=axis, keepdims=keepdims, ddof=1),
}


def sample(dtype: DataType, *shape: int) -> np.ndarray:
    return rounded((np.random.default_rng(3).standard_normal(shape) + 0.5).astype(np.float32), dtype)


@pytest.mark.parametrize("dtype", [F32, BF16, BFP8])
@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_reductions(one: MeshDevice, name: str, dtype: DataType):
    x = sample(dtype, 3, 33, 5)
    for dim in DIMS:
        for keepdim in (False, True):
            axis = None if dim is None else tuple(np.atleast_1d(dim))
            wanted = np.asarray(REFERENCE[name](x.astype(float), axis=axis, keepdims=keepdim))
            found = getattr(ops, name)(put(one, x, dtype), dim, keepdim)
            assert (found.shape, found.dtype) == (wanted.shape, dtype)
            near(found, rounded(wanted.astype(np.float32), dtype), steps=16 if dtype is F32 else 1)


def test_padding_takes_no_part(one: MeshDevice):
    x = -np.abs(sample(F32, 5, 7)) - 1
    t = put(one, x)
    assert t.padded_shape == (32, 32)
    near(ops.max(t, -1), x.max(-1))
    near(ops.mean(t), x.astype(float).mean(), steps=2)
    near(ops.prod(t, 1), x.astype(float).prod(1), steps=8)
    near(ops.softmax(t, -1), np.exp(x) / np.exp(x.astype(float)).sum(-1, keepdims=True), steps=4)
    assert held(ops.argmax(t, -1)).tolist() == x.argmax(-1).tolist()


def test_options(one: MeshDevice):
    x = sample(F32, 4, 6)
    t = put(one, x)
    near(ops.sum(t, dim=1, scalar=0.5), x.astype(float).sum(1) * 0.5, steps=4)
    near(ops.var(t, 1, correction=False), x.astype(float).var(1), steps=8)
    assert ops.sum(t, 1, output_layout=ROW).layout is ROW
    assert ops.sum(put(one, np.ones((16, 16))), dim=1).shape == (16,)
    assert ops.sum(t).shape == ()
    assert ops.sum(t, keepdim=True).shape == (1, 1)
    with pytest.raises(RuntimeError, match="Unsupported dim 2 at index 0"):
        ops.sum(t, 2)


def test_integers(one: MeshDevice):
    x = np.array([[2**30, 2**30, 2**30], [1, 2, 3]], np.int32)
    assert held(ops.sum(put(one, x, I32), 1)).tolist() == [np.int64(3 * 2**30).astype(np.int32), 6]
    assert held(ops.max(put(one, x, I32), 0)).tolist() == [2**30] * 3
    assert held(ops.cumsum(put(one, x, I32), 1)).tolist()[1] == [1, 3, 6]


def test_prod(one: MeshDevice):
    x = sample(F32, 2, 3, 4)
    near(ops.prod(put(one, x)), x.astype(float).prod(), steps=8)
    near(ops.prod(put(one, x), 1, True), x.astype(float).prod(1, keepdims=True), steps=8)
    batches = sample(F32, 2, 3, 4, 5)
    out = put(one, np.zeros((1, 1, 4, 5)))
    with pytest.raises(TypeError, match="over several dims the product goes into an output_tensor"):
        ops.prod(put(one, batches), dims=[0, 1])
    assert ops.prod(put(one, batches), out, dims=[0, 1]).storage is out.storage
    near(out, batches.astype(float).prod((0, 1), keepdims=True), steps=8)


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_argmax(one: MeshDevice, dtype: DataType):
    x = np.array([[1, 5, 5, 2], [9, 0, 9, 1], [-1, -3, -1, -2]], np.float32)
    t = put(one, x, dtype, ROW)
    last = ops.argmax(t, -1)
    assert (held(last).tolist(), last.dtype, last.layout) == ([1, 0, 0], U32, ROW)
    assert held(ops.argmax(t, dim=0, keepdim=True)).tolist() == [[1, 0, 1, 0]]
    assert held(ops.argmax(t)).item() == 4
    assert ops.argmax(t, keepdim=True).shape == (1, 1)


@pytest.mark.parametrize("name", ["topk", "sort"])
def test_what_is_ordered_along_another_dimension_stays_where_it_lies(one: MeshDevice, name: str):
    function, x = getattr(ops, name), put(one, np.zeros((1, 1, 64, 64)), BF16)
    for dim, kind in ((-1, "L1"), (2, "DRAM")):
        found = function(x, dim=dim, memory_config=L1_MEMORY_CONFIG)
        assert {t.memory_config().buffer_type.name for t in found} == {kind}


def test_topk_and_sort(one: MeshDevice):
    x = sample(BF16, 3, 1, 70)
    x[0, 0, 10] = x[0, 0, 3]
    t = put(one, x, BF16)
    order = np.argsort(-x, axis=-1, kind="stable")
    values, indices = ops.topk(t, k=32, dim=-1)
    assert (values.dtype, indices.dtype, values.shape) == (BF16, U16, (3, 1, 32))
    assert held(indices).tolist() == order[..., :32].tolist()
    assert np.array_equal(held(values), np.take_along_axis(x, order, -1)[..., :32])
    smallest, _ = ops.topk(t, 2, -1, largest=False)
    assert np.array_equal(held(smallest), np.sort(x, -1)[..., :2])
    along0, places = ops.topk(t, 1, 0)
    assert np.array_equal(held(along0), x.max(0, keepdims=True))
    assert np.array_equal(held(places), x.argmax(0)[None])
    ascending, _ = ops.sort(t)
    assert np.array_equal(held(ascending), np.sort(x, -1))
    descending, at = ops.sort(t, dim=-1, descending=True)
    assert held(at).tolist() == order.tolist()
    assert np.array_equal(held(descending), np.take_along_axis(x, order, -1))
    names = put(one, np.broadcast_to(np.arange(70)[::-1] + 1000, (3, 1, 70)), I32)
    assert held(ops.topk(t, 4, -1, indices_tensor=names)[1]).tolist() == (1069 - order[..., :4]).tolist()
    with pytest.raises(RuntimeError, match="K cannot be larger"):
        ops.topk(t, 71)


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_running_sums(one: MeshDevice, dtype: DataType):
    x = sample(dtype, 4, 5, 6)
    for dim in (0, 1, -1):
        near(
            ops.cumsum(put(one, x, dtype), dim),
            rounded(np.cumsum(x.astype(float), dim).astype(np.float32), dtype),
            steps=2,
        )
        near(
            ops.cumprod(put(one, x, dtype), dim),
            rounded(np.cumprod(x.astype(float), dim).astype(np.float32), dtype),
            steps=2,
        )
    backwards = np.flip(np.cumsum(np.flip(x.astype(float), 1), 1), 1)
    near(
        ops.cumsum(put(one, x, dtype), 1, reverse_order=True),
        rounded(backwards.astype(np.float32), dtype),
        steps=2,
    )
    assert ops.cumsum(put(one, x, dtype), 0, dtype=F32).dtype is F32


def test_nonzero(one: MeshDevice):
    x = np.array([[[[0, 3, 0], [0, 0, 4]], [[5, 0, 0], [0, 0, 0]]]])
    count, places = ops.nonzero(put(one, x, BF16, ROW))
    assert (count.shape, count.dtype, places.shape) == ((1, 1, 1, 8), U32, (1, 1, 1, 48))
    assert held(count)[0, 0, 0].tolist() == [3, 0, 0, 0, 0, 0, 0, 0]
    assert held(places)[0, 0, 0, :12].reshape(3, 4).tolist() == np.argwhere(x).tolist()
    assert not held(places)[0, 0, 0, 12:].any()
    with pytest.raises(RuntimeError, match="non_zero_indices: input must be rank-4, got rank 1"):
        ops.nonzero(put(one, np.array([0, 7]), U32, ROW))


def sampling_inputs(one: MeshDevice, k: int, p: float, temp: float) -> list[Any]:
    rng = np.random.default_rng(0)
    values = put(one, rng.standard_normal((1, 1, 32, 64)), BF16)
    names = put(one, np.broadcast_to(np.arange(64) + 500, (1, 1, 32, 64)), I32, ROW)
    settings = [put(one, np.full(32, v), d, ROW) for v, d in ((k, U32), (p, BF16), (temp, BF16))]
    return [values, names, *settings]


def test_sampling(one: MeshDevice):
    greedy = sampling_inputs(one, 1, 0.0, 1.0)
    best = held(greedy[0])[0, 0].argmax(-1) + 500
    assert held(ops.sampling(*greedy)).tolist() == [[[best.tolist()]]]
    free = sampling_inputs(one, 32, 1.0, 1.0)
    first = held(ops.sampling(*free, seed=7))
    assert np.array_equal(held(ops.sampling(*free, seed=7)), first)
    assert not np.array_equal(held(ops.sampling(*free, seed=8)), first)
    token = ops.manual_seed(3, device=one)
    assert (tuple(token.shape), token.dtype, token.layout) == ((1,), U32, ROW)
    series = [held(ops.sampling(*free)).tolist() for _ in range(3)]
    ops.manual_seed(3, device=one)
    assert [held(ops.sampling(*free)).tolist() for _ in range(3)] == series
    assert series[0] != series[1]
    ops.manual_seed(3, device=one)
    assert held(ops.sampling(*free)).tolist() == series[0]
    ops.manual_seed((1 << 32) - 1, device=one)
    assert held(ops.sampling(*free)).tolist() == series[1]
    allowed = np.argsort(-held(free[0])[0, 0], axis=-1, kind="stable")[:, :32] + 500
    assert all(token in row for token, row in zip(first.ravel(), allowed, strict=True))


@pytest.mark.parametrize(("shape", "dim"), [((4, 6), 2), ((4, 6), -3), ((), 1)])
def test_sort_names_the_dimension_that_there_is_none_of(one: MeshDevice, shape: tuple[int, ...], dim: int):
    with pytest.raises(RuntimeError, match=f"Sort dim {dim} is out of range for rank-{len(shape)} tensor"):
        ops.sort(put(one, np.ones(shape)), dim)


def test_empty_and_rank_zero(one: MeshDevice):
    t = put(one, np.zeros((0, 4)), F32, ROW)
    assert held(ops.sum(t, 0)).tolist() == [0, 0, 0, 0]
    assert ops.add(t, t).shape == (0, 4)
    scalar = ops.sum(put(one, np.ones((2, 2))))
    assert held(ops.add(scalar, scalar)).item() == 8
    assert scalar.layout is TILE
    for dim in (-1, 0, [0]):
        assert held(ops.sum(scalar, dim)).item() == held(ops.max(scalar, dim)).item() == 4
        assert ops.squeeze(scalar, dim).shape == ()
    with pytest.raises(RuntimeError, match="Unsupported dim"):
        ops.sum(scalar, 1)


def test_rows_that_are_reduced_in_tiles_come_back_in_tiles(one: MeshDevice):
    """Of rows: recorded from the reference library 0.81.1, which sums matrices, and batches of BFLOAT16, in tiles."""
    x = {dtype: put(one, sample(dtype, 2, 3, 50, 70), dtype, ROW) for dtype in (F32, BF16)}
    for dtype, dim, layout in (
        (BF16, -1, ROW), (BF16, 0, TILE), (F32, 0, ROW), (BF16, (2, 3), TILE), (F32, (2, 3), TILE), (BF16, None, TILE), (F32, None, ROW)
    ):  # fmt: skip
        assert ops.sum(x[dtype], dim).layout is layout, (dtype, dim)
    assert ops.sum(put(one, sample(I32, 2, 50, 70), I32, ROW), -1).layout is TILE
    assert [ops.mean(x[BF16], dim).layout for dim in (0, None, (2, 3))] == [ROW, ROW, TILE]
    for found in (
        ops.prod(x[BF16], -1),
        ops.softmax(x[BF16], -1),
        ops.tril(put(one, sample(BF16, 2, 64, 96), BF16, ROW)),
    ):
        assert found.layout is TILE
    for dtype, rows in ((BF16, TILE), (F32, ROW)):
        assert ops.outer(x[dtype], x[dtype]).layout is ROW
        vector = put(one, sample(dtype, 1, 70), dtype, ROW)
        assert ops.outer(vector, vector).layout is rows


def test_places_are_wide_where_the_elements_are(one: MeshDevice):
    assert [part.dtype for part in ops.sort(put(one, sample(U16, 64, 64), U16))] == [U16, U32]
    for dtype, wide in ((F32, U32), (BF16, U16)):
        x = put(one, sample(dtype, 64, 64), dtype)
        for found in (ops.sort(x), ops.topk(x, 5)):
            assert isinstance(found, list)
            assert [part.dtype for part in found] == [dtype, wide]


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("shape", [(3, 40, 100), (7, 2, 64), (1, 1, 200), (5, 65)])
def test_running_reductions_add_in_the_same_order_along_every_axis(
    one: MeshDevice, name: str, shape: tuple[int, ...]
) -> None:
    values = np.random.default_rng(0).lognormal(0, 4, shape).astype(np.float32)
    function = {"cumsum": np.add, "cumprod": np.multiply}[name]
    with np.errstate(all="ignore"):
        for axis in range(len(shape)):
            wanted = function.accumulate(values, axis=axis)
            found = held(getattr(ops, name)(put(one, values, F32), axis))
            assert found.tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_each_row_of_a_reduced_block_float_is_a_block_of_its_own(one: MeshDevice):
    """Rows of sizes far apart: beside 1000, a thousandth would be lost in a shared exponent. Without the dimension the rows are one."""
    x = np.ones((5, 32), np.float32) * np.float32([0.001, 1, 10, 1000, 0.1])[:, None]
    tensor = put(one, x, BFP8)
    wanted = rounded(np.asarray(held(tensor).sum(-1, keepdims=True)), BFP8)
    assert np.array_equal(held(ops.sum(tensor, -1, True)), wanted)
    assert wanted.all()
    assert np.array_equal(held(ops.sum(tensor, -1)), rounded(wanted[:, 0], BFP8))


@pytest.mark.parametrize("name", ["sum", "max", "exp", "neg", "clone"])
def test_block_floats_that_are_numbers_share_nothing_with_other_devices(
    one: MeshDevice, mesh: MeshDevice, name: str
):
    """Eight numbers are no row of eight, whatever lies in one array here."""
    values = np.float32([0.0123, 1.37, 7.77, 100.3, 3, 0.5, 64, 9])
    whole = put(mesh, values, BFP8, shard=0)
    for shape in ([], [1]):
        found = getattr(ops, name)(ops.reshape(whole, shape))
        alone = [getattr(ops, name)(put(one, np.float32(x).reshape(shape), BFP8)) for x in values]
        assert [held(found, d).item() for d in range(8)] == [held(x).item() for x in alone]


def test_rows_and_numbers_of_fewer_than_two_dimensions(one: MeshDevice):
    """What the reference does with them: a row is not tilized, a number may stay a row, and ends beyond the rank are not read."""
    row, tiled = (put(one, np.arange(5, dtype=np.float32), BF16, layout) for layout in (ROW, TILE))
    for attempt in (lambda: ops.prod(row), lambda: ops.tilize_with_val_padding(row, [32], 0.0)):
        with pytest.raises(RuntimeError, match=r"To be tilizable output tensor shape Shape\(\[32\]\) must"):
            attempt()
    assert ops.tilize_with_val_padding(row, [32, 32], 0.0).shape == (5,)
    assert held(ops.untilize_with_unpadding(tiled, [3])).tolist() == [0, 1, 2, 3]
    assert held(ops.untilize_with_unpadding(tiled, [2, 7])).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="0 not in"):
        ops.untilize_with_unpadding(tiled, [])
    number = put(one, np.float32(3), BF16, ROW)
    assert (held(ops.softmax(number)), ops.softmax(number).layout) == (1, ROW)
    with pytest.raises(RuntimeError, match="not supported for 0D tensors"):
        ops.layer_norm(number)


def test_numbers_of_several_devices_are_no_row_to_normalise(mesh: MeshDevice):
    row = put(mesh, np.float32([1, -2, 3, 0.5, 7, 8, -9, 10]), F32, shard=0)
    number = ops.reshape(row, [])
    found = ops.rms_norm(number, residual_input_tensor=number, weight=ops.reshape(row, [1, 1]))
    assert [held(found, d).round(4) for d in range(8)] == [1, 2, 3, 0.5, 7, 8, 9, 10]
    assert all(held(ops.alt_complex_rotate90(number), d) == 0 for d in range(8))
    odd = ops.alt_complex_rotate90(put(mesh, np.float32([[1, 2, 3], [4, 5, 6]])))
    assert held(odd).tolist() == [[-2, 1, 0], [-5, 4, 0]]


@pytest.mark.parametrize("dim", [0, 1])
def test_running_sums_and_products_that_overflow_are_infinite(one: MeshDevice, dim: int):
    """Nothing is told of it: a warning would end a program that takes warnings for errors."""
    x = np.full((4, 4), 2e38, np.float32)
    for name in ("cumsum", "cumprod"):
        found = np.moveaxis(held(getattr(ops, name)(put(one, x), dim)), dim, 0)
        assert (found[0] == np.float32(2e38)).all() and np.isinf(found[1:]).all()
