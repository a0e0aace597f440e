"""Dimensions that a tensor does not have, and tensors without any: refused in the words of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.tensors import BF16, F32, TILE, U32, held, put
from tt_run.runtime.mesh import MeshDevice

pytestmark = pytest.mark.torch
_PLACE = "Index is out of bounds for the rank, should be between 0 and 1 however is 2"


@pytest.mark.parametrize(
    ("name", "rest", "words"),
    [
        ("split", (2, 2), _PLACE),
        ("narrow", (2, 0, 1), _PLACE),
        ("repeat_interleave", (2, 2), _PLACE),
        ("roll", (1, 2), r"Invalid dimension index 2. The dimension must be within the range \[-2, 1\]."),
        ("chunk", (2, 2), "Invalid dimension for chunk operation, 2 needs to be greater than 2"),
    ],
)
def test_of_one_tensor(one: MeshDevice, name: str, rest: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        named(name)(put(one, np.ones((3, 5)), BF16, TILE), *rest)


def test_of_several_tensors(one: MeshDevice) -> None:
    x, index = put(one, np.ones((3, 5)), BF16), put(one, np.zeros((3, 5)), U32)
    with pytest.raises(RuntimeError, match=_PLACE):
        ops.concat([x, x], 2)
    with pytest.raises(RuntimeError, match=r"expected to be in range of \[-3,2\], but got 3"):
        ops.stack([x, x], 3)
    with pytest.raises(RuntimeError, match="scatter: dim 2 is out of range for tensor rank 2"):
        ops.scatter(x, 2, index, x)
    with pytest.raises(RuntimeError, match="index_dtype is not integer, it is BFLOAT16"):
        ops.scatter(x, 0, x, x)
    with pytest.raises(RuntimeError, match="indexed_fill: dim 2 is out of bounds for rank 2"):
        ops.indexed_fill(index, x, x, dim=2)


def test_of_a_number(one: MeshDevice) -> None:
    number = put(one, np.array(2.0), F32)
    with pytest.raises(RuntimeError, match="should be between 0 and -1 however is 0"):
        ops.transpose(number, 0, 0)
    with pytest.raises(RuntimeError, match=r"ttnn\.outer: inputs must be at least 1D"):
        ops.outer(number, number)
    with pytest.raises(RuntimeError, match=r"ttnn\.matmul: Both arguments to matmul need to be at least 1D"):
        ops.matmul(number, number)


@pytest.mark.parametrize("shape", [(3, 5), (4, 7, 32), (2, 7, 7, 8)])
def test_means_of_images_of_fewer_dimensions(one: MeshDevice, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    found = named("global_avg_pool2d")(put(one, values, F32))
    images = values.reshape(*[1] * (len(shape) < 4), *shape, *[1] * (len(shape) < 3))
    assert found.shape == (images.shape[0], 1, 1, images.shape[3])
    np.testing.assert_allclose(held(found), images.mean((1, 2), keepdims=True), rtol=1e-6)


def test_means_of_what_is_no_image(one: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="expects rank 2, 3, or 4 input, got rank 5"):
        named("global_avg_pool2d")(put(one, np.ones((1, 1, 2, 2, 2)), F32))
