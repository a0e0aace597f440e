"""Parts of a tensor written in place."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.data_movement.test_written_parts import on_cores
from tests.runtime.ops.tensors import F32, ROW, U8, U32, held, put
from tt_run.runtime.enums import BLOCK_SHARDED, WIDTH_SHARDED
from tt_run.runtime.mesh import MeshDevice

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("float32_too")]
pytest.importorskip("torch")


def test_writing_a_part(one: MeshDevice) -> None:
    held_before, new = np.zeros((1, 4, 8, 16), np.float32), sample(F32, 1, 2, 4, 16)
    out = put(one, held_before, F32, ROW)
    part, bounds = put(one, new, F32, ROW), ([0, 1, 0, 0], [1, 3, 8, 16], [1, 1, 2, 1])
    assert call("experimental.slice_write", part, out, *bounds).storage is out.storage
    held_before[:, 1:3, ::2] = new
    assert np.array_equal(held(out), held_before)
    with pytest.raises(
        RuntimeError, match="being written 4 should match the size of the input tensor 2 at dim 1"
    ):
        call(
            "experimental.slice_write",
            put(one, new, F32, ROW),
            out,
            [0, 0, 0, 0],
            [1, 4, 8, 16],
            [1, 1, 1, 1],
        )


@pytest.mark.parametrize(
    ("shifts", "dims", "error", "words"),
    [
        ([1], [0, 1], RuntimeError, "Roll expects shifts 1 and dims 2 to have the same length"),
        ([1, 2], [0], RuntimeError, "Roll expects shifts 2 and dims 1 to have the same length"),
        ([], [], RuntimeError, "Roll expects shifts 0 and dims 0 to have the same length"),
        (1, [0, 1], TypeError, "incompatible function arguments"),
        ([1], 1, TypeError, "incompatible function arguments"),
        ([1, 2], None, TypeError, "incompatible function arguments"),
    ],
)
def test_a_shift_belongs_to_a_dimension(
    one: MeshDevice, shifts: object, dims: object, error: type[Exception], words: str
) -> None:
    tensor = put(one, sample(F32, 4, 32))
    with pytest.raises(error, match=words):
        call("roll", tensor, shifts, *([] if dims is None else [dims]))


def test_an_index_of_fills_has_one_dimension(one: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="Index fill: Index tensor must be 1D"):
        call("index_fill", put(one, sample(F32, 4, 32), F32, ROW), 0, put(one, [[0, 2]], U32, ROW), 1.0)


def test_fills_part_rows_where_they_were_parted(one: MeshDevice) -> None:
    values = sample(F32, 4, 4, 4, 64)
    tensor = on_cores(put(one, values, F32, ROW), WIDTH_SHARDED, (64, 16), (3, 0))
    index = put(one, [1, 3], U32, ROW)
    wide = on_cores(put(one, values, F32, ROW), BLOCK_SHARDED, (16, 32), (1, 3)).memory_config()
    with pytest.raises(RuntimeError, match=r"column shard width .* must match; got input=16 output=32"):
        call("index_fill", tensor, 3, index, 1.0, memory_config=wide)
    like = on_cores(put(one, values, F32, ROW), BLOCK_SHARDED, (16, 16), (3, 3)).memory_config()
    filled = call("index_fill", tensor, 3, index, 1.0, memory_config=like)
    values[..., [1, 3]] = 1
    assert np.array_equal(held(filled), values)


def test_padding_of_small_integers_is_not_filled(one: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="Unsupported datatype DataType::UINT8"):
        call("fill_implicit_tile_padding", put(one, np.ones((30, 33)), U8), 1)
    whole = put(one, np.ones((32, 32)), U8)
    assert np.array_equal(held(call("fill_implicit_tile_padding", whole, 1)), np.ones((32, 32)))
