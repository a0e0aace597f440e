"""How far the keys reach that a chunk of queries is compared with; the scores are compared in forms_program.py."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tt_run.runtime.ccl.fused.ring_indexer import _check, _end
from tt_run.runtime.enums import DataType, Layout, Topology
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
    q = full((1, 1, 32, 64), 1.0, DataType.BFLOAT16, Layout.TILE, mesh)
    assert _end(start, q, (2, 4), axes, ratio, None, keys) == end


RING, LINEAR = Topology.Ring, Topology.Linear


@pytest.mark.parametrize(
    ("cluster_axis", "sp_axis", "second", "topology", "refused"),
    [
        (None, None, None, RING, None),
        (None, None, None, LINEAR, "a ring over the complete mesh takes topology=Ring"),
        (None, 1, None, RING, "a ring over the complete mesh takes topology=Ring"),
        (None, None, 0, RING, "a ring over the complete mesh takes topology=Ring"),
        (1, None, 0, LINEAR, None),
        (1, 1, None, RING, None),
        (1, 0, None, RING, "block_cyclic_sp_axis 0 must be cluster_axis 1"),
    ],
)
def test_which_axes_go_together(
    cluster_axis: int | None, sp_axis: int | None, second: int | None, topology: Topology, refused: str | None
) -> None:
    with nullcontext() if refused is None else pytest.raises(RuntimeError, match=refused):
        _check(cluster_axis, sp_axis, second, topology)
