"""How far the keys reach that a chunk of queries is compared with; the scores are compared in forms_program.py."""

from __future__ import annotations

import pytest

from tt_run.runtime.ccl.fused.ring_indexer import _end
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.creation.from_shape import full


@pytest.mark.parametrize(
    ("start", "axes", "ratio", "keys", "end"),
    [
        (96, [1], 1, 512, 224),  # four devices along the row have 32 queries each
        (96, [], 1, 512, 352),  # all eight of the mesh
        (96, [1], 4, 512, 64),  # one key for four positions, in whole tiles
        (96, [1], 1, 192, 192),  # no more than there are
    ],
)
def test_a_chunk_reaches_to_its_last_query(
    mesh: MeshDevice, start: int, axes: list[int], ratio: int, keys: int, end: int
) -> None:
    q = full((1, 1, 32, 32), 1.0, DataType.BFLOAT16, Layout.TILE, mesh)
    assert _end(start, q, (2, 4), axes, ratio, None, keys) == end
