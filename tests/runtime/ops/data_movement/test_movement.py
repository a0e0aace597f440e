"""Operations that move elements, against NumPy, on integers so that every element counts exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, U32, held, put, rounded
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.shape import Shape
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tensor.tensor import Tensor


def counted(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)


X = counted(2, 3, 5, 4)

CASES: dict[str, tuple[Callable[[Tensor], Any], np.ndarray]] = {
    "reshape": (lambda t: ops.reshape(t, (6, 20)), X.reshape(6, 20)),
    "reshape infers": (lambda t: ops.reshape(t, [5, -1]), X.reshape(5, 24)),
    "view": (lambda t: ops.view(t, (6, 5, 4)), X.reshape(6, 5, 4)),
    "reshape by its other name": (
        lambda t: ops.reshape(t, logical_shape=(6, 20), padded_shape=(32, 32)),
        X.reshape(6, 20),
    ),
    "pad by its other name": (
        lambda t: ops.pad(t, output_padded_shape=[2, 3, 8, 8], input_tensor_start=[0, 0, 1, 0], value=0),
        np.pad(X, [(0, 0), (0, 0), (1, 2), (0, 4)]),
    ),
    "permute": (lambda t: ops.permute(t, (3, 0, 2, 1)), X.transpose(3, 0, 2, 1)),
    "permute negative": (lambda t: ops.permute(t, (-1, 0, 2, 1)), X.transpose(3, 0, 2, 1)),
    "transpose": (lambda t: ops.transpose(t, 1, -1), X.swapaxes(1, -1)),
    "slice": (lambda t: ops.slice(t, [0, 1, 0, 1], [2, 3, 5, 3]), X[0:2, 1:3, 0:5, 1:3]),
    "slice steps": (lambda t: ops.slice(t, [0, 0, 1, 0], [2, 3, 5, 4], [1, 2, 2, 3]), X[:, ::2, 1::2, ::3]),
    "slice keywords": (
        lambda t: ops.slice(t, slice_start=[1, 0, 0, 0], slice_end=[2, 3, 5, -1]),
        X[1:2, :, :, :-1],
    ),
    "pad": (
        lambda t: ops.pad(t, [(0, 0), (0, 1), (2, 0), (1, 1)], 9),
        np.pad(X, [(0, 0), (0, 1), (2, 0), (1, 1)], constant_values=9),
    ),
    "pad last dims": (
        lambda t: ops.pad(t, ((1, 2),), value=7),
        np.pad(X, [(0, 0), (0, 0), (0, 0), (1, 2)], constant_values=7),
    ),
    "pad to shape": (
        lambda t: ops.pad(t, [2, 3, 8, 8], [0, 0, 1, 0], 0),
        np.pad(X, [(0, 0), (0, 0), (1, 2), (0, 4)]),
    ),
    "repeat": (lambda t: ops.repeat(t, (1, 2, 1, 3)), np.tile(X, (1, 2, 1, 3))),
    "repeat adds dims": (lambda t: ops.repeat(t, (2, 1, 1, 1, 1)), np.tile(X, (2, 1, 1, 1, 1))),
    "repeat_interleave": (lambda t: ops.repeat_interleave(t, 3, dim=1), np.repeat(X, 3, axis=1)),
    "unsqueeze": (lambda t: ops.unsqueeze(t, -1), X[..., None]),
    "squeeze nothing": (lambda t: ops.squeeze(t), X),
    "expand": (
        lambda t: ops.expand(ops.slice(t, [0, 0, 0, 0], [2, 1, 5, 1]), (2, 3, -1, 4)),
        np.broadcast_to(X[:, :1, :, :1], X.shape),
    ),
    "roll": (lambda t: ops.roll(t, 2, 2), np.roll(X, 2, axis=2)),
    "roll flat": (lambda t: ops.roll(t, 3), np.roll(X, 3)),
    "concat": (lambda t: ops.concat([t, t], dim=2), np.concatenate([X, X], 2)),
    "concat groups": (
        lambda t: ops.concat([t, t], dim=-1, groups=2),
        np.concatenate([X[..., :2], X[..., :2], X[..., 2:], X[..., 2:]], -1),
    ),
    "stack": (lambda t: ops.stack([t, t, t], 1), np.stack([X, X, X], 1)),
    "clone": (ops.clone, X),
    "identity": (ops.identity, X),
}


@pytest.mark.parametrize("layout", [ROW, TILE])
@pytest.mark.parametrize("name", sorted(CASES))
def test_moves_every_element(one: MeshDevice, name: str, layout: Layout):
    function, wanted = CASES[name]
    if layout is TILE and name.startswith("pad"):
        with pytest.raises(RuntimeError, match="on device tile padding does not support front padding"):
            function(put(one, X, I32, layout))
        return
    found = function(put(one, X, I32, layout))
    assert (found.dtype, found.layout, found.shape) == (I32, layout, wanted.shape)
    assert held(found).tolist() == wanted.tolist()


@pytest.mark.parametrize("dtype", [F32, BF16, BFP8, U32])
def test_dtypes(one: MeshDevice, dtype: DataType):
    x = rounded(np.random.default_rng(0).uniform(0, 50, (3, 40, 33)).astype(np.float32), dtype)
    for function, wanted in (
        (lambda t: ops.transpose(t, 0, 2), x.swapaxes(0, 2)),
        (lambda t: ops.concat([t, t], -1), np.concatenate([x, x], -1)),
        (lambda t: ops.reshape(t, (-1,)), x.reshape(-1)),
    ):
        # A block float shares its exponents with its new neighbours, or becomes bfloat16 where tiles do not fit together.
        found = function(put(one, x, dtype))
        assert found.dtype in ((dtype, BF16) if dtype is BFP8 else (dtype,))
        assert np.array_equal(held(found), rounded(np.ascontiguousarray(wanted), found.dtype))


def test_split_and_chunk(one: MeshDevice):
    t = put(one, X, I32)
    assert [held(p).shape[2] for p in ops.split(t, 2, dim=2)] == [2, 2, 1]
    assert [held(p).tolist() for p in ops.split(t, [1, 4], dim=2)] == [
        X[:, :, :1].tolist(),
        X[:, :, 1:].tolist(),
    ]
    assert [held(p).shape[2] for p in ops.chunk(t, 2, 2)] == [3, 2]
    assert held(ops.split(t, 1)[1]).tolist() == X[1:].tolist()
    with pytest.raises(RuntimeError, match="must sum"):
        ops.split(t, [1, 1], dim=2)


def test_squeeze_and_unsqueeze_to_4d(one: MeshDevice):
    t = put(one, counted(1, 3, 1, 4), I32)
    assert ops.squeeze(t).shape == (3, 4)
    assert ops.squeeze(t, 0).shape == (3, 1, 4)
    assert ops.squeeze(t, 1).shape == (1, 3, 1, 4)
    assert ops.squeeze(t, [0, -2]).shape == (3, 4)
    assert ops.unsqueeze_to_4D(ops.squeeze(t)).shape == (1, 1, 3, 4)
    scalar = ops.squeeze(put(one, np.ones((1, 1))))
    assert scalar.shape == () and ops.squeeze(scalar, 0).shape == () and ops.squeeze(scalar, [-1]).shape == ()
    with pytest.raises(RuntimeError, match=r"range of \[-1,0\], but got 1"):
        ops.squeeze(scalar, 1)
    with pytest.raises(RuntimeError, match="rank is greater than 4"):
        ops.unsqueeze_to_4D(ops.unsqueeze(t, 0))


@pytest.mark.parametrize("length", [31, 33, 64, 100])
def test_vectors_in_tiles_are_cut_and_trimmed(one: MeshDevice, length: int):
    """A row of tiles has one dimension and two padded ones."""
    x = np.arange(1, length + 1, dtype=np.int32)
    t = put(one, x, I32)
    for first, last, step in ((0, length, 1), (1, length - 1, 1), (0, length, 2)):
        assert held(ops.slice(t, [first], [last], [step])).tolist() == x[first:last:step].tolist()
    row = put(one, x.astype(np.float32), F32)
    assert held(ops.tril(row)).tolist() == np.tril(x[None])[0].tolist()
    assert held(ops.triu(row, diagonal=2)).tolist() == np.triu(x[None], 2)[0].tolist()


def test_gather_and_scatter(one: MeshDevice):
    rng = np.random.default_rng(1)
    x, index = counted(4, 6), rng.integers(0, 6, (3, 5)).astype(np.uint32)
    found = ops.gather(put(one, x, I32), -1, put(one, index, U32))
    assert held(found).tolist() == np.take_along_axis(x[:3], index.astype(int), 1).tolist()
    with pytest.raises(RuntimeError, match="gather: dim 2 is out of range for tensor rank 2"):
        ops.gather(put(one, x, I32), 2, put(one, index, U32))
    with pytest.raises(RuntimeError, match=r"must have the same layout. Got input layout: Layout::TILE"):
        ops.gather(put(one, x, I32), 1, put(one, index, U32, ROW))
    along0 = rng.integers(0, 4, (2, 6)).astype(np.uint32)
    assert (
        held(ops.gather(put(one, x, I32), 0, put(one, along0, U32))).tolist()
        == np.take_along_axis(x, along0.astype(int), 0).tolist()
    )
    places = np.array([[1, 4], [0, 5]], np.uint32)
    source = np.array([[100, 200], [300, 400]], np.int32)
    wanted = x.copy()
    for row in range(2):
        wanted[row, places[row]] = source[row]
    t = put(one, x, I32)
    assert held(ops.scatter(t, 1, put(one, places, U32), put(one, source, I32))).tolist() == wanted.tolist()
    assert held(t).tolist() == x.tolist()
    twice = np.array([[2, 2]], np.uint32)
    pair = put(one, np.array([[5, 7]], np.int32), I32)
    assert held(ops.scatter(t, 1, put(one, twice, U32), pair))[0, 2] == 7
    assert held(ops.scatter(t, 1, put(one, twice, U32), pair, reduce="add"))[0, 2] == 14
    assert held(ops.scatter(t, 1, put(one, twice, U32), pair, reduce="multiply"))[0, 2] == 70
    with pytest.raises(RuntimeError, match="out of range"):
        ops.gather(t, 1, put(one, np.array([[9]]), U32))
    with pytest.raises(RuntimeError, match="reduce must be either"):
        ops.scatter(t, 1, put(one, twice, U32), pair, reduce="xor")


def test_tilize_and_untilize(one: MeshDevice):
    x = np.arange(2 * 32 * 64, dtype=np.float32).reshape(2, 32, 64) % 128
    t = put(one, x, F32, ROW)
    tiled = ops.tilize(t, dtype=BF16)
    assert (tiled.layout, tiled.dtype, tiled.padded_shape) == (TILE, BF16, (2, 32, 64))
    assert ops.untilize(tiled).layout is ROW
    assert ops.tilize(put(one, x[:, :16].copy(), F32, ROW), tile=Tile((16, 32))).padded_shape == (2, 16, 64)
    assert held(ops.untilize(tiled)).tolist() == x.tolist()
    with pytest.raises(
        RuntimeError, match=r"Input tensor width \(7\) must be divisible by tile width \(32\)"
    ):
        ops.tilize(put(one, x[:, :, :7].copy(), F32, ROW))
    with pytest.raises(
        RuntimeError, match=r"Input tensor height \(5\) must be divisible by tile height \(32\)"
    ):
        ops.tilize(put(one, x[:, :5].copy(), F32, ROW))
    assert ops.untilize(put(one, X, BFP8)).dtype is BF16


def test_views_share_and_never_change_their_source(one: MeshDevice):
    t = put(one, X, I32)
    flat = ops.reshape(t, (-1,))
    out = put(one, np.zeros(X.size, np.int32), I32)
    ops.add(flat, 1, output_tensor=flat)
    assert held(t).tolist() == X.tolist()
    ops.multiply(flat, 2, output_tensor=out)
    assert held(out)[0] == 2


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda t: ops.reshape(t, (7, 7)), "Invalid arguments to reshape"),
        (lambda t: ops.reshape(t, (-1, -1)), "cannot have more than 1 elements that is set to -1"),
        (lambda t: ops.permute(t, (0, 1)), "does not match the length of the desired ordering"),
        (
            lambda t: ops.transpose(t, 0, 4),
            "Index is out of bounds for the rank, should be between 0 and 3 however is 4",
        ),
        (lambda t: ops.slice(t, [0, 0], [1, 1]), "must have the same size"),
        (
            lambda t: ops.slice(t, [0, 0, 0, 0], [2, 3, 5, 33]),
            "Ends 64 must be less than or equal to the shape of the tensor 32",
        ),
        (lambda t: ops.concat([]), "expected a non-empty list of Tensors!"),
        (
            lambda t: ops.concat([t, ops.slice(t, [0, 0, 0, 0], [2, 3, 4, 4])], 0),
            "All dimensions must be the same size",
        ),
        (lambda t: ops.expand(t, (2, 3, 5, 8)), "Cannot expand"),
        (lambda t: ops.pad(t, [(1, -1)], 0.0), "does not fit"),
        (lambda t: ops.stack([t, ops.reshape(t, (6, 20))], 0), "one shape"),
    ],
)
def test_refusals(one: MeshDevice, call: Callable[[Tensor], Any], text: str):
    with pytest.raises(RuntimeError, match=text):
        call(put(one, X, I32))


def test_placements_stay_as_they_were(mesh: MeshDevice):
    t = put(mesh, counted(8, 4), I32, shard=0)
    for result in (ops.transpose(t, 0, 1), ops.reshape(t, (2, 2)), ops.permute(t, (1, 0)), ops.sum(t, 1)):
        assert result.tensor_topology() == t.tensor_topology()


def test_typecast_forms(one: MeshDevice):
    t = put(one, X, F32)
    for result in (
        ops.typecast(t, I32),
        ops.typecast(t, F32, I32),
        ops.typecast(input_tensor=t, dtype=I32),
        ops.typecast(t, input_dtype=F32, output_dtype=I32),
        getattr(ops, "experimental.typecast")(t, I32),
    ):
        assert (result.dtype, held(result).tolist()) == (I32, X.tolist())
    with pytest.raises(RuntimeError, match="does not match"):
        ops.typecast(t, BF16, I32)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        ops.typecast(t)
    with pytest.raises(TypeError, match="missing argument 'shape'"):
        ops.reshape(t)


def test_tiles_are_padded_behind(one: MeshDevice):
    found = ops.pad(put(one, X, I32), ((0, 2), (0, 1)), 5)
    with pytest.raises(TypeError, match="value of what is added, which has no default"):
        ops.pad(put(one, X, I32), ((0, 2), (0, 1)))
    assert held(found).tolist() == np.pad(X, [(0, 0), (0, 0), (0, 2), (0, 1)], constant_values=5).tolist()
    with pytest.raises(RuntimeError, match="padding len can't be larger than input tensor rank"):
        ops.pad(put(one, X, I32), ((0, 0),) * 5, 0)


def test_host_tensors_are_reshaped_and_padded():
    tensor = from_torch(X.astype(np.float32), dtype=F32, layout=ROW)
    wanted = {
        "reshape": (ops.reshape(tensor, (6, 20)), (6, 20)),
        "unsqueeze": (ops.unsqueeze(tensor, 0), (1, 2, 3, 5, 4)),
        "squeeze": (ops.squeeze(ops.unsqueeze(tensor, 0), 0), (2, 3, 5, 4)),
        "unsqueeze_to_4D": (ops.unsqueeze_to_4D(ops.reshape(tensor, (6, 20))), (1, 1, 6, 20)),
        "pad": (ops.pad(tensor, ((0, 0), (0, 1)), 0.0), (2, 3, 5, 5)),
    }
    for name, (found, shape) in wanted.items():
        assert (found.device(), found.shape) == (None, shape), name


def test_a_corner_of_a_padded_buffer(one: MeshDevice):
    x = np.arange(32 * 64, dtype=np.float32).reshape(1, 1, 32, 64)
    found = ops.reshape(put(one, x), (1, 1, 1, 64), (1, 1, 32, 64))
    assert held(found).tolist() == x[:, :, :1].tolist()
    with pytest.raises(RuntimeError, match="Invalid arguments to reshape"):
        ops.reshape(put(one, x), (1, 1, 1, 64), (1, 1, 64, 64))


@pytest.mark.parametrize("layout", [TILE, ROW])
def test_a_shape_says_what_a_buffer_is_taken_for(one: MeshDevice, layout: Layout):
    """A list has to hold the same elements; recorded from the reference library 0.81.1."""
    x = np.arange(4 * 32 * 128, dtype=np.float32).reshape(1, 4, 32, 128) % 251
    host, device = from_torch(x, dtype=F32, layout=layout), put(one, x, layout=layout)
    fewer = host.reshape(Shape([1, 4, 8, 128]))
    assert (
        held(fewer).tolist() == (x[:, :, :8] if layout is TILE else x.reshape(1, -1, 8, 128)[:, :4]).tolist()
    )
    assert held(ops.reshape(device, Shape([1, 2, 32, 128]))).tolist() == x[:, :2].tolist()
    assert ops.reshape(host, Shape([4, 32, 100])).shape == (4, 32, 100)
    narrow = held(ops.reshape(host, Shape([1, 4, 32, 64])))
    assert narrow[0, 0, 0, 32:].tolist() == x.reshape(-1)[32:64].tolist()
    more = put(one, x[:, :, :8], layout=layout)
    if layout is TILE:
        grown = held(ops.reshape(more, Shape([1, 4, 32, 128])))
        assert grown[:, :, :8].tolist() == x[:, :, :8].tolist() and not grown[:, :, 8:].any()
    else:
        with pytest.raises(RuntimeError, match="MeshBuffer must be large enough"):
            ops.reshape(more, Shape([1, 4, 32, 128]))
    with pytest.raises(RuntimeError, match="two shapes with different volumes"):
        ops.reshape(device, Shape([1, 4, 8, 64]))
    with pytest.raises(RuntimeError, match="Invalid arguments to reshape"):
        host.reshape([1, 4, 8, 128])


@pytest.mark.torch
@pytest.mark.parametrize(
    ("call", "shape", "filler"),
    [
        (lambda x: ops.tilize_with_val_padding(x, [1, 64, 64], 3.5), (1, 64, 64), 3.5),
        (lambda x: ops.tilize_with_val_padding(x, [1, 128, 96], 3.5), (1, 128, 96), 3.5),
        (lambda x: ops.fill_implicit_tile_padding(ops.to_layout(x, TILE), 2.0), (1, 64, 64), 2.0),
        (lambda x: ops.permute(ops.to_layout(x, TILE), (0, 2, 1), 7.0), (1, 64, 64), 7.0),
    ],
)
def test_padding_that_an_operation_fills_is_seen_with_the_padded_shape(
    one: MeshDevice, call: Any, shape: tuple[int, ...], filler: float
):
    result = call(put(one, np.ones((1, 40, 50)), BF16, ROW))
    assert tuple(result.padded_shape) == shape and result.shape.volume() == 2000
    seen = result.cpu().to_torch_with_padded_shape().float().numpy()
    assert seen.shape == shape
    assert seen.sum() == 2000 + filler * (seen.size - 2000)
    assert tuple(ops.neg(result).padded_shape) == (1, 64, 64)


@pytest.mark.parametrize(
    ("padded", "words"),
    [
        ([1, 32, 64], r"Shape\(\[1, 32, 64\]\) must be greater than or equal to input shape .* smaller in dimension 1"),
        ([1, 40, 64], r"must be divisible by tile size \(32, 32\)"),
        ([64, 64], r"ShapeBase\[\] index out of range. 2 not in \[-4, 2\)"),
    ],
)  # fmt: skip
def test_padding_that_does_not_fit_is_refused(one: MeshDevice, padded: list[int], words: str):
    x = put(one, np.ones((1, 40, 50)), BF16, ROW)
    with pytest.raises(RuntimeError, match=words):
        ops.tilize_with_val_padding(x, padded, 0.0)


def test_what_is_tiled_stays_and_what_is_not_cannot_be_filled(one: MeshDevice):
    tiled = put(one, np.ones((40, 50)), BF16)
    assert ops.tilize_with_zero_padding(tiled).storage is tiled.storage
    with pytest.raises(RuntimeError, match="FillPad should only be used for tile layout"):
        ops.fill_implicit_tile_padding(put(one, np.ones((40, 50)), BF16, ROW), 0.0)
    # Rows of whole tiles would have nothing to fill.
    assert ops.fill_implicit_tile_padding(put(one, np.ones((64, 32)), BF16, ROW), 0.0).layout is ROW
    assert tuple(ops.untilize_with_unpadding(tiled, [63, 63]).shape) == (64, 64)


def test_a_scatter_takes_the_part_of_its_source_that_the_index_names(one: MeshDevice):
    x, source = np.zeros((4, 6)), np.arange(40.0).reshape(5, 8)
    at = np.array([[0, 2, 1], [3, 3, 0]])
    result = ops.scatter(put(one, x, F32, ROW), 0, put(one, at, I32), put(one, source, F32, ROW))
    wanted = x.copy()
    for (i, j), row in np.ndenumerate(at):
        wanted[row, j] = source[i, j]
    np.testing.assert_array_equal(held(result), wanted)
    with pytest.raises(RuntimeError, match=r"index_shape\[0\] <= source_shape\[0\] == false"):
        ops.scatter(
            put(one, x, F32, ROW), 0, put(one, np.zeros((6, 3), np.int32), I32), put(one, source, F32, ROW)
        )
    for first, second, message in (
        (put(one, x), put(one, source, F32, ROW), "Scatter doesn't work for fp32 tiled tensors yet"),
        (put(one, x, BF16), put(one, source, F32, ROW), "input_dtype differs from src_dtype"),
    ):
        with pytest.raises(RuntimeError, match=message):
            ops.scatter(first, 0, put(one, at, I32), second)


def test_sorting_what_has_no_dimensions(one: MeshDevice):
    values, places = ops.sort(put(one, np.float32(3.0)), dim=-1)
    assert tuple(values.shape) == tuple(places.shape) == () and held(values) == 3 and held(places) == 0


@pytest.mark.parametrize(("numbers", "refused"), [([0, 3], None), ([0, 4], 4), ([1, 9], 9)])
def test_gather_takes_numbers_below_the_length(
    one: MeshDevice, numbers: list[int], refused: int | None
) -> None:
    values, index = put(one, counted(1, 1, 2, 4), I32), put(one, np.array([[[numbers] * 2]]), U32)
    gather = catalog.find("ttnn.gather")
    assert gather is not None
    if refused is None:
        assert np.array_equal(held(gather(values, -1, index)).reshape(2, 2), [[0, 3], [4, 7]])
        return
    with pytest.raises(RuntimeError, match=f"index {refused} is out of range for dimension 3 of length 4"):
        gather(values, -1, index)


def test_blocks_leave_their_tiles_or_do_not(one: MeshDevice):
    """As recorded from the reference: eight bits become bfloat16 where tiles are cut, four have no way out of them."""
    eight, four = (put(one, np.ones((64, 64)), kind) for kind in (BFP8, DataType.BFLOAT4_B))
    assert ops.roll(eight, 1, 0).dtype is BF16 and ops.roll(eight, 32, 0).dtype is BFP8
    assert ops.stack([eight, eight], -1).dtype is BF16 and ops.stack([eight, eight], 0).dtype is BFP8
    assert ops.roll(four, 32, -1).dtype is DataType.BFLOAT4_B
    within = ops.pad(put(one, np.ones((33, 40)), four.dtype), [(0, 7), (0, 2)], 0.0)
    assert within.dtype is DataType.BFLOAT4_B and tuple(within.shape) == (40, 42)
    for call, words in (
        (lambda: ops.roll(eight, 1, -1), "All Tensors should have same dtypes"),
        (lambda: ops.roll(four, 1, 0), "Only TILE layout is supported"),
        (lambda: ops.untilize(four), "Only TILE layout is supported"),
        (lambda: ops.to_layout(four, ROW), "Only TILE layout is supported"),
        (lambda: ops.stack([four, four], 1), "Only TILE layout is supported"),
        (
            lambda: ops.repeat(put(one, np.ones((33, 64)), four.dtype), [2, 1]),
            "Only TILE layout is supported",
        ),
        (lambda: ops.pad(four, [(0, 32), (0, 0)], 0.0), "Cannot pad tilized tensor"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()
