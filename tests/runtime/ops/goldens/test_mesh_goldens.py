"""Golden functions of collectives: from all shards of a mesh to the whole tensor, against what the operations leave on the devices."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import F32, I32, ROW, held, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import Topology
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice
from tt_run.runtime.ops.goldens.mesh_goldens import _unplaced
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ShardTensor2dMesh
from tt_run.runtime.tools.golden import get_golden_function

torch = pytest.importorskip("torch")
MESH = (2, 4)
CUTS = list(itertools.product((None, 0, 2), (None, 1, 3)))
"""Dimensions cut along the two axes of the mesh."""


def found(name: str) -> Any:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    return operation


def draw(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def cut(mesh: MeshDevice, array: Any, cuts: tuple[int | None, int | None]) -> Any:
    mapper = ShardTensor2dMesh(mesh, mesh_shape=MESH, dims=cuts)
    return from_torch(array, dtype=F32, layout=ROW, device=mesh, mesh_mapper=mapper)


def shards(tensor: Any) -> list[Any]:
    return [torch.from_numpy(np.array(held(tensor, device))) for device in range(8)]


def whole(tensor: Any, cuts: Any) -> Any:
    """What the devices hold, put together along the dimensions that are cut."""
    parts = np.stack([held(tensor, device) for device in range(8)]).reshape(*MESH, *held(tensor).shape)
    for axis in (1, 0):
        join = (lambda a, dim: a[0]) if cuts[axis] is None else np.concatenate
        if axis == 1:
            parts = np.stack([join(list(row), cuts[1]) for row in parts])
        else:
            parts = join(list(parts), cuts[0])
    return parts


@pytest.mark.parametrize("cuts", CUTS)
def test_sums_and_gathers(mesh: MeshDevice, cuts: tuple[int | None, int | None]) -> None:
    tensor = cut(mesh, draw(4, 8, 16, 32), cuts)
    where = {"_ttnn_golden_mesh_shape": MESH, "_ttnn_golden_mesh_shard_dims": cuts}
    for name, axis, dim in [("all_reduce", 1, None), ("all_gather", 0, 3), ("all_gather", 1, 1), ("reduce_scatter", 0, 2), ("reduce_scatter", 1, 3)]:  # fmt: skip
        given = () if dim is None else (dim,)
        after = list(cuts)
        if name == "all_gather":
            after = [None if c == dim else c for c in cuts]
        elif name == "reduce_scatter":
            after = [None if c == dim else c for c in cuts]
            after[axis] = dim
        else:
            after[axis] = None
        wanted = get_golden_function(found(name))(shards(tensor), *given, cluster_axis=axis, **where)
        result = found(name)(tensor, *given, cluster_axis=axis, topology=Topology.Linear)
        np.testing.assert_allclose(whole(result, after), wanted.numpy(), rtol=1e-5, atol=1e-5)


def test_of_single_shards(mesh: MeshDevice) -> None:
    tensor = cut(mesh, draw(4, 8, 16, 32), (0, 3))
    where = {"_ttnn_golden_mesh_shape": MESH, "_ttnn_golden_mesh_shard_dims": (0, 3)}
    several = get_golden_function(found("all_broadcast"))(shards(tensor), cluster_axis=1, **where)
    for result, wanted in zip(found("all_broadcast")(tensor, cluster_axis=1), several, strict=True):
        np.testing.assert_array_equal(whole(result, (0, None)), wanted.numpy())
    sender = MeshCoordinate(1, 2)
    wanted = get_golden_function(found("broadcast"))(shards(tensor), sender, cluster_axis=1, **where)
    result = found("broadcast")(tensor, sender, cluster_axis=1)
    np.testing.assert_array_equal(whole(result, (0, None)), wanted.numpy())
    same = put(mesh, draw(4, 8, 16, 32), F32, ROW)
    where["_ttnn_golden_mesh_shard_dims"] = (None, None)
    wanted = get_golden_function(found("mesh_partition"))(shards(same), 3, cluster_axis=1, **where)
    np.testing.assert_array_equal(
        whole(found("mesh_partition")(same, 3, cluster_axis=1), (None, 3)), wanted.numpy()
    )
    sent = get_golden_function(found("point_to_point"))(
        shards(tensor), sender, MeshCoordinate(0, 1), _ttnn_golden_mesh_shape=MESH
    )
    assert sent._ttnn_mesh_index == 1
    result = found("point_to_point")(tensor, sender, MeshCoordinate(0, 1), topology=Topology.Linear)
    np.testing.assert_array_equal(held(result, 1), sent.numpy())


def test_without_a_mesh_there_is_none() -> None:
    for name, more in [
        ("all_gather", (0,)),
        ("all_reduce", ()),
        ("broadcast", ((0, 0),)),
        ("mesh_partition", (0,)),
    ]:
        assert get_golden_function(found(name))(torch.ones(2, 3), *more) is None
    with pytest.raises(ValueError, match="Collective axis 2 is invalid for mesh shape"):
        get_golden_function(found("all_reduce"))(
            [torch.ones(2)] * 8,
            cluster_axis=2,
            _ttnn_golden_mesh_shape=MESH,
            _ttnn_golden_mesh_shard_dims=(0, 0),
        )


def test_tokens_to_experts(mesh: MeshDevice) -> None:
    """Of the weights for experts, and of the routing weights, each device's own."""
    mapping = np.eye(8, dtype=np.float32).repeat(2, 0)[None, None]
    chosen = np.random.default_rng(3).integers(0, 16, (8, 2, 32, 4))
    weights = draw(8, 2, 32, 16)
    golden = get_golden_function(found("moe_expert_token_remap"))
    wanted = golden(*map(torch.from_numpy, (weights, mapping, chosen)))
    flat = put(mesh, chosen.astype(np.int32).astype(np.uint16), I32, ROW)
    assert flat.shape == (8, 2, 32, 4)
    assert wanted[0].shape == (8, 2, 32, 2)
    for device, group in itertools.product(range(8), range(4)):
        own = wanted[0][device].reshape(64, 2)[group * 16 : (group + 1) * 16]
        assert torch.equal(wanted[1][device, 0, group].bool(), (own != 0).any(0))
    routed = np.where(draw(1, 16) > 0, draw(1, 16), 0).astype(np.float32)
    share = int((routed != 0).sum()) // 4 * 4
    parts = get_golden_function(found("moe_routing_remap"))(
        torch.from_numpy(routed), share, 4, 1, _ttnn_golden_mesh_shape=MESH
    )
    result = found("moe_routing_remap")(put(mesh, routed, F32, ROW), share, 4, 1)
    for device in range(8):
        np.testing.assert_array_equal(held(result, device).reshape(-1), parts[device].numpy())


@pytest.mark.parametrize(
    ("cuts", "axis", "is_mixed"),
    [
        ((3, None), 1, False),
        ((None, 3), 0, True),
        ((2, None), 1, False),
        ((2, None), None, True),
        ((2, None), 0, True),
    ],
)
def test_a_partition_of_what_is_cut_already(cuts: Any, axis: int | None, is_mixed: bool) -> None:
    """Of dimension 3: pieces within pieces are in order, pieces of what an inner axis has cut are not."""
    assert _unplaced(MESH, cuts, 3, axis) == is_mixed
