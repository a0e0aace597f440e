"""What NumPy's buffer may change: nothing of the sums of rows that it holds, which `rowwise` relies on."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels.elementwise import Buffers, evaluate
from tt_run.runtime.kernels.rowwise import along_last, buffer_of


@pytest.mark.parametrize("width", [1, 17, 127, 129, 1000, 1024, 4099, 8192, 9000])
@pytest.mark.parametrize("rows", [1, 3, 9])
def test_sums_of_rows_keep_their_bits_when_the_buffer_holds_a_row(width: int, rows: int) -> None:
    values = np.random.default_rng(width).standard_normal((rows, width)).astype(np.float32)
    usual = np.add.reduce(values, axis=-1)
    with Buffers(buffer_of(width)):
        short = np.add.reduce(values, axis=-1)
    assert np.array_equal(usual, short)


def test_the_buffer_is_as_before_after_an_operation_and_after_an_error() -> None:
    before = np.getbufsize()
    along_last(np.copyto, DataType.FLOAT32, np.ones((1, 4, 8), np.float32))
    evaluate(np.add, DataType.BFLOAT16, np.ones((4, 300, 300), np.float32), np.ones((4, 1, 300), np.float32))
    with pytest.raises(TypeError):
        along_last(lambda: None, DataType.FLOAT32, np.ones((1, 4, 8), np.float32))
    assert np.getbufsize() == before


@pytest.mark.parametrize("dtype", [DataType.FLOAT32, DataType.BFLOAT16])
@pytest.mark.parametrize("side", [(1, 1, 700), (1, 300, 1), (1, 300, 700)])
def test_operands_that_broadcast_give_the_bits_of_whole_ones(dtype: DataType, side: tuple[int, ...]) -> None:
    a, b = (
        np.random.default_rng(i).standard_normal(s).astype(np.float32)
        for i, s in ((1, (1, 300, 700)), (2, side))
    )
    b[..., 0] = np.inf
    whole = np.ascontiguousarray(np.broadcast_to(b, a.shape))
    for kernel in (np.add, np.multiply, np.divide, np.maximum, np.less):
        short, long = evaluate(kernel, dtype, a, b), evaluate(kernel, dtype, a, whole)
        assert np.array_equal(short.view(np.uint32), long.view(np.uint32))
