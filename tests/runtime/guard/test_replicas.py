"""Devices that should hold replicas and do not: found at the next collective, where it was asked for."""

from __future__ import annotations

import pytest

from tests.runtime.mpi import ROOT, Result, run_ranks
from tests.sweep import sweep

PROGRAM = """
import numpy as np, ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
rank = int(ttnn.distributed_context_get_rank()) if ttnn.distributed_context_is_initialized() else 0
values = np.arange(64, dtype=np.float32).reshape(1, 1, 8, 8) + SEED
x = ttnn.from_torch(values, device=mesh, layout=ttnn.TILE_LAYOUT, mesh_mapper=MAPPER)
CALL
print("passed")
"""
DESCRIPTORS = {1: "t3k_mesh_graph_descriptor", 2: "t3k_2x4_two_hosts", 4: "t3k_2x4_four_hosts"}
REPLICATE = "ttnn.ReplicateTensorToMesh(mesh)"
ROWS = "ttnn.ShardTensor2dMesh(mesh, (2, 4), (None, 3))"


def run(
    ranks: int, seed: str = "0", mapper: str = REPLICATE, call: str = "ttnn.all_reduce(x)", on: str = "1"
) -> Result:
    env = {
        "TT_MESH_GRAPH_DESC_PATH": str(ROOT / "configs" / "mgd" / f"{DESCRIPTORS[ranks]}.textproto"),
        "TT_RUN_CHECK_REPLICAS": on,
    }
    program = PROGRAM.replace("SEED", seed).replace("MAPPER", mapper).replace("CALL", call)
    return run_ranks(ranks, program, env=env, timeout=25)


@pytest.mark.parametrize(
    ("ranks", "mapper"),
    [
        (2, ROWS),
        *(
            pytest.param(ranks, mapper, marks=pytest.mark.wide)
            for ranks, mapper in ((2, REPLICATE), (1, REPLICATE), (1, ROWS), (4, REPLICATE), (4, ROWS))
        ),
    ],
)
def test_true_replicas_and_shards_pass(ranks: int, mapper: str) -> None:
    result = run(
        ranks,
        mapper=mapper,
        call="ttnn.all_gather(ttnn.all_reduce(x, cluster_axis=0), dim=3, cluster_axis=1)",
    )
    assert result.check().stdout.split() == ["passed"] * ranks


def test_a_rank_with_other_weights_is_named_by_every_rank() -> None:
    result = run(4, "(rank == 2)")
    assert result.returncode == 1
    for rank in result.ranks:
        assert (
            "error[TTG008]: 2 different values where devices (0, 0), (0, 1), (0, 2), (0, 3) and 4 more"
            in rank.stderr
        )
        assert "program.py:7" in rank.stderr
        assert "devices (1, 0), (1, 1) (rank 2): hash" in rank.stderr


@pytest.mark.wide
def test_replicas_along_one_axis_only() -> None:
    result = run(4, "(rank == 2)", ROWS, "ttnn.all_gather(x, dim=3, cluster_axis=1)")
    assert (
        "error[TTG008]: 2 different values where devices (0, 0), (1, 0) should hold replicas"
        in result.ranks[0].stderr
    )


@pytest.mark.wide
def test_another_collective_is_still_a_divergence() -> None:
    call = "ttnn.all_reduce(x) if rank else ttnn.all_gather(x, dim=3, cluster_axis=1)"
    assert any("error[TTG001]" in rank.stderr for rank in run(2, "rank", call=call).ranks)


@pytest.mark.wide
def test_nobody_looks_unless_asked() -> None:
    assert run(2, "rank", on="0").check().stdout.split() == ["passed"] * 2


@pytest.mark.wide
@pytest.mark.parametrize(
    "call",
    sweep(
        [
            "ttnn.all_reduce(ttnn.broadcast(x, ttnn.MeshCoordinate(0, 0)))",
            "ttnn.point_to_point(x, ttnn.MeshCoordinate(0, 0), ttnn.MeshCoordinate(0, 3))",
        ],
        quick=["ttnn.all_reduce(ttnn.broadcast(x, ttnn.MeshCoordinate(0, 0)))"],
    ),
)
def test_what_one_device_sends_may_differ_elsewhere(call: str) -> None:
    """That it becomes the same is what a broadcast is for."""
    assert run(2, "rank", call=call).check().stdout.split() == ["passed"] * 2
