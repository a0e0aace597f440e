"""What `all_gather_minimal_matmul_async` refuses, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, put
from tt_run.runtime.ccl.fused.product_parts import Gathered, check_gathered
from tt_run.runtime.errors import sentence_of
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.products.minimal_checks import MinimalCall
from tt_run.runtime.tuning.activation import UnaryOpType
from tt_run.runtime.tuning.matmul import MinimalMatmulConfig

ASKED = Gathered(64, -1, 1, (), 2, 4, turned=True)


@pytest.mark.parametrize(
    ("asked", "product", "words"),
    [
        ({"chunks": 3}, {}, "Output width N=256 must be divisible by chunks=3"),
        ({"sizes": (64, 192)}, {}, "chunk_sizes must have exactly chunks=1 entries, got 2"),
        ({"sizes": (64, 64), "chunks": 2}, {}, "chunk_sizes must sum to the output width N=256, got 128"),
        ({"sizes": (40, 216), "chunks": 2}, {}, r"chunk_sizes\[0\]=40 must be a multiple of TILE_WIDTH=32"),
        ({"sizes": (1, 255), "chunks": 2}, {}, r"chunk_sizes\[0\]=1 must be a multiple of TILE_WIDTH=32"),
        ({"sizes": (0, 256), "chunks": 2}, {}, r"chunk_sizes\[0\] must be > 0"),
        ({"dim": 3}, {}, "currently only supports dim=-1, got dim=3"),
        ({"chunks": 2}, {"gated": True}, "fuse_swiglu does not yet support chunks > 1"),
        ({}, {"gated": True, "activation": UnaryOpType.RELU}, "is mutually exclusive with fused_activation / ternary"),
        ({}, {"config": MinimalMatmulConfig(K_block_size=3)}, r"K_block_size \(3\) must be <= K tiles per device \(2\)"),
        ({"links": 1}, {}, r"sender axis \(8\) must form exactly num_links \(1\) groups of num_workers_per_link \(4\)"),
        ({"links": 4, "workers": 1}, {}, r"num_links \(4\) groups of num_workers_per_link \(1\)"),
    ],
)  # fmt: skip
def test_refusals(one: MeshDevice, asked: dict[str, Any], product: dict[str, Any], words: str):
    x, w = (put(one, np.ones((256, 256), np.float32), BF16) for _ in "xw")
    call = MinimalCall(x, w, name="all_gather_minimal_matmul_async")
    check_gathered(call, ASKED)
    with pytest.raises(RuntimeError, match=words):
        check_gathered(replace(call, **product), replace(ASKED, **asked))


def test_a_product_in_one_piece_may_end_within_a_tile(one: MeshDevice):
    x, w = put(one, np.ones((256, 256)), BF16), put(one, np.ones((256, 240)), BF16)
    check_gathered(MinimalCall(x, w, name="all_gather_minimal_matmul_async"), ASKED)
    with pytest.raises(
        RuntimeError, match="Each chunk size N/chunks=120 must be a multiple of TILE_WIDTH=32"
    ):
        check_gathered(MinimalCall(x, w, name="all_gather_minimal_matmul_async"), replace(ASKED, chunks=2))


@pytest.mark.parametrize(
    ("rows", "batch", "turned", "axis"),
    [
        (256, 1, True, 4),
        (256, 1, False, 2),
        (288, 1, False, 4),
        (224, 1, False, 2),
        (160, 2, False, 4),
        (96, 2, False, 2),
    ],
)
def test_the_senders_are_a_row_of_the_grid_for_what_is_turned_or_higher_than_wide(
    one: MeshDevice, rows: int, batch: int, turned: bool, axis: int
):
    x, w = put(one, np.ones((batch, rows, 256), np.float32), BF16), put(one, np.ones((256, 256)), BF16)
    config = MinimalMatmulConfig(compute_with_storage_grid_size=(4, 2))
    call = MinimalCall(x, w, config=config, name="all_gather_minimal_matmul_async")
    check_gathered(call, replace(ASKED, turned=turned, links=axis, workers=1))
    with pytest.raises(RuntimeError) as refused:
        check_gathered(call, replace(ASKED, turned=turned, links=1, workers=1))
    assert sentence_of(refused.value) == (
        f"The in0 sender axis ({axis}) must form exactly num_links (1) groups of num_workers_per_link (1)"
    )
    assert f"num_links=1, num_workers_per_link={axis}" in str(refused.value)
