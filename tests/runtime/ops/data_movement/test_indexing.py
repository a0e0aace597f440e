"""Parts of a tensor written in place."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.attention.test_attention import sample
from tests.runtime.ops.attention.test_latent_attention import call
from tests.runtime.ops.tensors import F32, ROW, held, put
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
    with pytest.raises(RuntimeError, match="being written 4 should match the size of the input tensor 2 at dim 1"):
        call(
            "experimental.slice_write",
            put(one, new, F32, ROW),
            out,
            [0, 0, 0, 0],
            [1, 4, 8, 16],
            [1, 1, 1, 1],
        )
