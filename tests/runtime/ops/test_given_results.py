"""Results of single operations that are written over a tensor which is given for them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U32, held, put, rounded
from tt_run.runtime.enums import Layout
from tt_run.runtime.mesh import MeshDevice


@pytest.mark.parametrize("layout", [ROW, TILE])
@pytest.mark.parametrize("inverted", [False, True])
def test_what_is_among_others(one: MeshDevice, layout: Layout, inverted: bool):
    elements = np.arange(64).reshape(2, 32)
    room = put(one, np.ones((2, 32)), U32, layout)
    given = put(one, elements, I32, layout), put(one, np.array([3, 40, 99]), I32, ROW)
    found = named("experimental.isin")(*given, invert=inverted, out=room)
    assert found.storage is room.storage and found.dtype is U32
    wanted = np.isin(elements, [3, 40], invert=inverted)
    assert np.array_equal(held(room), np.where(wanted, 0xFFFFFFFF, 0))


def test_another_type(one: MeshDevice):
    values = np.random.default_rng(1).normal(size=(32, 64)).astype(np.float32)
    room, cast = put(one, np.ones((32, 64)), BF16), named("experimental.typecast")
    found = cast(put(one, values, F32), BF16, optional_output_tensor=room)
    assert found.storage is room.storage and np.array_equal(held(room), rounded(values, BF16))
    with pytest.raises(RuntimeError, match="Mismatched output dtype"):
        cast(put(one, values, F32), BF16, optional_output_tensor=put(one, values, F32))
