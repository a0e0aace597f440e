"""How far the keys reach that a chunk of queries is compared with; the scores are compared in forms_program.py."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from tests.runtime.ops.placement.test_halves import named
from tests.runtime.ops.tensors import BF16, TILE, held, put, rounded
from tt_run.runtime.ccl.fused.ring_indexer import _check, _end
from tt_run.runtime.enums import DataType, Layout, Topology
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.creation.from_shape import full
from tt_run.runtime.tensor.distribution.mappers import ShardTensor2dMesh


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


@pytest.mark.parametrize("finer", [False, True])
def test_queries_that_a_second_axis_cuts(mesh: MeshDevice, finer: bool) -> None:
    """Each stripe of axis 0 has chunks of 128 positions, of which axis 1 gives each device 32."""
    rng = np.random.default_rng(3)
    q, weights, keys = (rng.normal(size=s) for s in ((1, 2, 256, 16), (1, 1, 256, 2), (1, 1, 512, 16)))
    halves = from_torch(
        keys.astype(np.float32), dtype=BF16, layout=TILE, device=mesh,
        mesh_mapper=ShardTensor2dMesh(mesh, mesh_shape=(2, 4), dims=(2, None)),
    )  # fmt: skip
    given = (
        put(mesh, q, BF16, shard=2),
        put(mesh, np.zeros(keys.shape), BF16),
        put(mesh, weights, BF16, shard=2),
    )
    words = {
        "block_cyclic_sp_axis": 0,
        "block_cyclic_chunk_local": 128,
        "block_cyclic_cache_tp_sharded": finer,
    }
    found = named("experimental.ring_indexer_score_dsa")(
        *given, halves, [], cluster_axis=0, topology=RING, seq_subshard_axis=1, chunk_start_idx=256, **words
    )
    assert np.array_equal(held(given[1], 5), rounded(keys.astype(np.float32), BF16))
    plain = named("experimental.indexer_score_dsa")(
        *given, seq_shard_axes=[0, 1], chunk_start_idx=256, **words
    )
    for device in range(8):
        assert np.array_equal(held(found, device), held(plain, device))
        seen = np.isfinite(held(found, device)[0, 0]).sum(-1)
        assert np.array_equal(seen, 256 + 32 * device + np.arange(32) + 1)
