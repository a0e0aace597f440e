"""What the norms of diffusion models take for weights; their values are compared in forms_program.py."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.tensor import Tensor


@pytest.mark.parametrize(
    ("rows", "width", "taken"), [(1, 32, True), (4, 32, True), (3, 32, False), (1, 31, False)]
)
def test_a_weight_is_one_row_or_one_for_each_token(
    one: MeshDevice, rows: int, width: int, taken: bool
) -> None:
    def ones(*dims: int) -> Tensor:
        return from_torch(np.ones(dims, np.float32), DataType.FLOAT32, layout=Layout.TILE, device=one)

    norm = catalog.find("ttnn.experimental.dit_fused_distributed_layernorm")
    assert norm is not None
    x, weight = ones(1, 1, 4, 32), ones(1, 1, rows, width)
    if taken:
        assert tuple(norm(x, 0, one, [], weight=weight).shape) == (1, 1, 4, 32)
    else:
        with pytest.raises(RuntimeError, match="nor one for each of 4 tokens"):
            norm(x, 0, one, [], weight=weight)
