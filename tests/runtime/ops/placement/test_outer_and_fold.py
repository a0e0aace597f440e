"""Where `outer` and `fold` leave results of operands on cores, as reference library 0.81.1 does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH
from tests.runtime.ops.placement.test_reordered_shards import MANY, SMALL, SQUARE, TALL, UNEVEN, WIDE, lying
from tests.runtime.ops.tensors import ROW, held
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG


@pytest.mark.parametrize(
    ("cut", "found"),
    [
        (TALL, (HEIGHT, (3, 0), (2048, 64))),
        (UNEVEN, (HEIGHT, (2, 0), (3424, 64))),
        (WIDE, L1_MEMORY_CONFIG),
        (SQUARE, L1_MEMORY_CONFIG),
    ],
)
def test_rows_of_outer_products(one: MeshDevice, cut: Any, found: Any):
    tensor = lying(one, *cut)
    products = named("outer")(tensor, tensor)
    assert where(products) == found
    last = held(tensor)[0, 0, -1]
    assert held(products)[0, 0, -1, -1].tolist() == held(tensor * float(last[-1]))[0, 0, -1].tolist()


def test_outer_products_of_rows_without_tiles(one: MeshDevice):
    tensor = lying(one, *TALL, ROW)
    with pytest.raises(RuntimeError, match="Shard page size must currently have L1 aligned page size"):
        named("outer")(tensor, tensor)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("cut", "stride", "found"),
    [
        (TALL, 1, (HEIGHT, (0, 0), (128, 64))),
        (MANY, 1, (HEIGHT, (5, 0), (64, 96))),
        (SMALL, 1, (HEIGHT, (3, 0), (32, 32))),
        (SMALL, 2, (HEIGHT, (3, 0), (8, 128))),
        (WIDE, 1, (WIDTH, (3, 0), (64, 32))),
    ],
)
def test_rows_of_folded_images(one: MeshDevice, cut: Any, stride: int, found: Any):
    assert where(named("fold")(lying(one, *cut), stride, stride)) == found


IMAGE, TEN = (1, 16, 16, 64), (1, 10, 10, 64)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("cut", "strides", "more", "found"),
    [
        ((IMAGE, BLOCK, (1, 1), (128, 32)), (2, 2), {}, (BLOCK, (1, 1), (32, 128))),
        ((IMAGE, BLOCK, (1, 3), (64, 32)), (8, 8), {}, (BLOCK, (1, 3), (1, 2048))),
        ((TEN, BLOCK, (1, 1), (64, 32)), (1, 2), {}, (BLOCK, (1, 1), (32, 64))),
        (((2, 8, 8, 64), HEIGHT, (3, 3), (8, 64)), (1, 2), {}, (HEIGHT, (3, 3), (4, 128))),
        ((TEN, HEIGHT, (1, 0), (50, 64)), (2, 2), {}, (HEIGHT, (4, 0), (5, 256))),
        (((1, 160, 4, 64), HEIGHT, (3, 0), (162, 64)), (1, 2), {}, (HEIGHT, (7, 4), (8, 128))),
        ((TEN, HEIGHT, (1, 0), (50, 64)), (2, 2), {"padding": [1, 1, 1, 1]}, (HEIGHT, (1, 0), (18, 256))),
        ((TEN, HEIGHT, (3, 0), (30, 64)), (2, 2), {"padding": [1, 1, 1, 1]}, (HEIGHT, (5, 0), (6, 256))),
    ],
)
def test_blocks_of_folded_images(one: MeshDevice, cut: Any, strides: Any, more: Any, found: Any):
    assert where(named("fold")(lying(one, *cut, ROW), *strides, **more)) == found


@pytest.mark.torch
def test_folded_images_whose_blocks_are_parted(one: MeshDevice):
    with pytest.raises(RuntimeError, match=r"shard height \(64\) must be divisible by patch_size \(25\)"):
        named("fold")(lying(one, TEN, BLOCK, (1, 1), (64, 32), ROW), 5, 5)
    with pytest.raises(RuntimeError, match=r"logical H \(16\) must be divisible by stride_h \(5\)"):
        named("fold")(lying(one, IMAGE, BLOCK, (1, 1), (160, 32), ROW), 5, 5)


NARROW = (1, 16, 16, 16)


@pytest.mark.torch
@pytest.mark.parametrize(("kind", "last", "piece"), [(WIDTH, (3, 0), (256, 4)), (BLOCK, (3, 1), (128, 4))])
@pytest.mark.parametrize("more", [{}, {"collapse_output": True}, {"padding": [1, 1]}])
def test_crooked_rows_are_folded_off_their_cores(
    one: MeshDevice, kind: Any, last: Any, piece: Any, more: dict[str, Any]
):
    images = lying(one, NARROW, kind, last, piece, ROW)
    folded = named("fold")(images, 2, 2, **more)
    assert folded.memory_config() == L1_MEMORY_CONFIG
    again = named("fold")(named("to_memory_config")(images, L1_MEMORY_CONFIG), 2, 2, **more)
    assert held(folded).tolist() == held(again).tolist()


@pytest.mark.torch
def test_pieces_of_columns_of_padded_images_are_refused(one: MeshDevice):
    images = lying(one, IMAGE, WIDTH, (3, 0), (256, 16), ROW)
    with pytest.raises(
        RuntimeError, match="Shard height 256 must match physical height 324 for width sharded"
    ):
        named("fold")(images, 2, 2, padding=[1, 1])
