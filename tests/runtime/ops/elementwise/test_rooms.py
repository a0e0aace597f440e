"""Tensors that a program gives for results: their rank, type and layout, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, I32, ROW, held, put
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice

ONES = np.ones((2, 32, 64), np.float32)


def op(name: str) -> Any:
    return catalog.find(f"ttnn.{name}")


@pytest.mark.parametrize("shape", [(1, 2, 32, 64), (1, 1, 1, 2, 32, 64)])
def test_a_result_of_two_operands_goes_into_a_tensor_with_more_ones_in_front(one: MeshDevice, shape: Any):
    x = put(one, ONES * 3, BF16)
    for name, given, value in (
        ("add", (x, x), 6),
        ("multiply", (x, 2.0), 6),
        ("where", (x, 1.0, x), 1),
    ):
        out = put(one, np.zeros(shape), BF16)
        assert op(name)(*given, output_tensor=out).storage is out.storage
        assert held(out).tolist() == np.full(shape, value).tolist(), name
    rows = put(one, ONES[:, :, :32], BF16)
    out = put(one, np.zeros((*shape[:-1], 32)), BF16)
    op("matmul")(rows, rows, optional_output_tensor=out)
    assert np.unique(held(out)).tolist() == [32]


def test_leading_ones_of_a_result_may_be_left_out(one: MeshDevice):
    x = put(one, ONES[None], BF16)
    out = put(one, np.zeros((2, 32, 64)), BF16)
    assert op("add")(x, x, output_tensor=out).storage is out.storage
    with pytest.raises(RuntimeError, match="provided does not match the broadcasted output shape"):
        op("add")(x, x, output_tensor=put(one, np.zeros((64, 64)), BF16))


def test_a_result_of_one_or_three_operands_has_the_shape_of_its_tensor(one: MeshDevice):
    x = put(one, ONES, BF16)
    wider = put(one, np.zeros((1, 2, 32, 64)), BF16)
    for name, given, words in (
        ("relu", (x,), "Unary: Preallocated output shape must match computed shape. Computed: "),
        ("maximum", (x, 2.0), "Unary: Preallocated output shape must match computed shape"),
        ("pow", (x, 3), "Unary: Preallocated output shape must match computed shape"),
        (
            "addcmul",
            (x, x, x),
            "When preallocted output tensor is used, Ternary operation requires its shape",
        ),
        ("where", (x, x, x), "When preallocted output tensor is used, Ternary operation requires its shape"),
        ("copy", (x, wider), "Input tensor shape .* does not match output tensor shape"),
    ):
        with pytest.raises(RuntimeError, match=words):
            op(name)(*given, **({} if name == "copy" else {"output_tensor": wider}))


def test_what_is_refused_first_of_a_tensor_for_the_result(one: MeshDevice):
    x, wider = put(one, ONES, BF16), put(one, np.zeros((1, 2, 32, 64)), F32)
    with pytest.raises(
        RuntimeError, match="output dtype and output tensor are provided, their dtypes should match"
    ):
        op("add")(x, x, dtype=BF16, output_tensor=wider)
    with pytest.raises(RuntimeError, match="Preallocated output dtype DataType::BFLOAT16 is not compatible"):
        op("exp")(put(one, ONES, I32), output_tensor=put(one, ONES, BF16))


def test_a_result_of_three_operands_has_the_type_of_its_tensor(one: MeshDevice):
    x = put(one, ONES * 1.75, BF16)
    for name, given, value in (
        ("addcmul", (x, x, x), 4),
        ("where", (x, x, x), 1),
        ("lerp", (x, x, 0.5), 1),
    ):
        out = put(one, np.zeros(ONES.shape), I32)
        assert op(name)(*given, output_tensor=out).dtype is I32
        assert np.unique(held(out)).tolist() == [value], name
    rows = put(one, np.zeros(ONES.shape), BF16, ROW)
    with pytest.raises(
        RuntimeError, match="requires output tensor to be in Tile layout when working with non-sharded tensor"
    ):
        op("addcmul")(x, x, x, output_tensor=rows)


def test_assign_names_the_type_of_the_tensor_beside_a_place(one: MeshDevice):
    x, out = put(one, ONES, BF16), put(one, np.zeros(ONES.shape), F32)
    place = out.memory_config()
    with pytest.raises(RuntimeError, match="Mismatched output dtype"):
        op("assign")(x, memory_config=place, output_tensor=out)
    assert op("assign")(x, memory_config=place, dtype=F32, output_tensor=out).dtype is F32
    assert held(op("assign")(x, out)).tolist() == ONES.tolist()


@pytest.mark.parametrize(
    ("name", "given", "value"), [("addalpha", (2.0,), 9.0), ("subalpha", (0.5,), 1.5), ("mac", (), 12.0)]
)
def test_sums_of_products_go_into_tensors_of_any_type(one: MeshDevice, name: str, given: Any, value: float):
    x = put(one, ONES * 3, BF16)
    operands = (x, x, x) if name == "mac" else (x, x, *given)
    further = (2, 32, 64) if name == "mac" else (1, 2, 32, 64)
    for dtype, shape in ((I32, (2, 32, 64)), (F32, further)):
        out = put(one, np.zeros(shape), dtype)
        assert op(name)(*operands, output_tensor=out).storage is out.storage
        assert out.dtype is dtype
        assert np.unique(held(out)).tolist() == [int(value) if dtype is I32 else value]


def test_whole_numbers_and_alpha_go_into_a_floating_tensor(one: MeshDevice):
    large = 16_777_217  # which float32 has not
    out = put(one, np.zeros((2, 3)), F32)
    first, second = (put(one, np.full((2, 3), value), I32) for value in (large, large - 2))
    op("subalpha")(first, second, 1.0, output_tensor=out)
    assert np.unique(held(out)).tolist() == [2]
    rows = put(one, ONES, BF16, ROW)
    with pytest.raises(RuntimeError, match="Row Major input is not supported"):
        op("addalpha")(rows, rows, 1.0, output_tensor=put(one, ONES, BF16))


def test_a_sum_of_three_has_a_room_of_its_shape_in_tiles_and_none_of_integers(one: MeshDevice):
    x, whole = put(one, ONES, BF16), put(one, ONES, I32)
    for given, room, said in (
        (x, put(one, ONES[None], BF16), "requires its shape to match the computed shape"),
        (x, put(one, ONES, BF16, ROW), "requires output tensor to be in Tile layout"),
        (whole, put(one, ONES, I32), "mac: output_tensor is not supported"),
    ):
        with pytest.raises(RuntimeError, match=said):
            op("mac")(given, given, given, output_tensor=room)


@pytest.mark.parametrize(
    ("name", "shapes", "room", "said"),
    [
        ("add", [(5, 2, 4, 1), (1, 3, 1, 8)], (5, 3, 4, 8), r"broadcasted output shape Shape\(\[5, 2, 4, 8\]\)"),
        ("eq", [(3, 4, 5), (2, 4, 1)], (4, 9), r"broadcasted output shape Shape\(\[3, 4, 5\]\)"),
        ("add", [(5, 2, 4, 1), (1, 3, 1, 8)], (5, 2, 4, 8), "index -3 .*, dim a: 2, dim b: 3$"),
        ("add", [(4, 8), (3, 8)], (9, 9), "Invalid subtile broadcast type"),
        ("add_", [(5, 2, 4, 1), (1, 3, 1, 8)], None, r"Shape of Output tensor Shape\(\[5, 2, 4, 1\]\)"),
        ("add_", [(3, 4, 5), (2, 4, 1)], None, r"index -3 \(output rank 3\), dim a: 3, dim b: 2"),
        ("addcmul", [(2, 4, 8), (3, 4, 8), (1, 8)], None, r"index -3 \(output rank 3\), dim a: 2, dim b: 3, dim c: 1"),
        ("mac", [(1, 4, 8), (3, 4, 8), (2, 1, 1)], None, r"dim a: 1, dim b: 3, dim c: 2"),
        ("lerp", [(2, 1, 1, 1, 1, 1, 8), (1, 8), (1, 8)], None, "for rank >= 7 .*dim a: 2, dim b: 1, dim c: 1"),
        ("where", [(2, 1, 1, 1, 1, 1, 8), (3, 1, 1, 1, 1, 1, 8), (1, 8)], None, r"violation at dimension index -7 .*dim b: 3"),
        ("addcdiv", [(4, 8), (3, 8), (3, 8)], None, "Invalid subtile broadcast type"),
        ("where", [(4, 8), (4, 8), (3, 8)], None, r"where: shapes Shape\(\[4, 8\]\), Shape\(\[4, 8\]\) and Shape\(\[3, 8\]\) do not"),
        ("mac", [(1, 4, 8), (3, 4, 8), (2, 1, 1)], (9, 9), "Broadcasting rule violation"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_named_before_or_after_the_room(
    one: MeshDevice, name: str, shapes: Any, room: Any, said: str
):
    tensors = [put(one, np.ones(shape), BF16) for shape in shapes]
    words = {} if room is None else {"output_tensor": put(one, np.ones(room), BF16)}
    with pytest.raises(RuntimeError, match=said):
        op(name)(*tensors, **words)
