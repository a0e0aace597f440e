"""Every way to lay a tensor over a 2x2 mesh with every collective over every axis: values and gradients against PyTorch.

The weights of the loss differ on all four devices, so no gradient is a copy along any axis and none may be taken for one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.train.pytorch import torch_or_skip
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.distribution import mappers
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard
from tt_run.runtime.train.autograd.axis_placement import by_axes
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops import binary, distributed
from tt_run.runtime.train.ops.distributed import GradOutputType, RingShiftDirection
from tt_run.runtime.train.parallel import distributed as core
from tt_run.runtime.train.parallel.distributed import set_tensor_placements, shard_tensor_to_mesh_mapper

SHAPE = (4, 4, 2)
MAPPERS: dict[str, Callable[[Any], Any]] = {
    "replicate": lambda device: None,
    "line": lambda device: shard_tensor_to_mesh_mapper(device, 0),
    "line of ttnn": lambda device: mappers.ShardTensorToMesh(device, 0),
    "axis 0": lambda device: shard_tensor_to_mesh_mapper(device, 0, 0),
    "axis 1": lambda device: shard_tensor_to_mesh_mapper(device, 0, 1),
    "both axes": lambda device: mappers.ShardTensor2dMesh(device, (2, 2), (0, 2)),
}
GROUPS = {None: [[0, 1, 2, 3]], 0: [[0, 2], [1, 3]], 1: [[0, 1], [2, 3]]}

# Each takes the shards of a group in order and gives what each of its devices holds then.
COLLECTIVES: dict[
    str, tuple[Callable[[Tensor, int | None], Tensor], Callable[[Any, list[Any]], list[Any]]]
] = {
    "all_reduce": (
        lambda x, axis: distributed.all_reduce(x, False, axis),
        lambda torch, own: [sum(own)] * len(own),
    ),
    "broadcast": (distributed.broadcast, lambda torch, own: own),
    "all_gather": (
        lambda x, axis: distributed.all_gather(x, 1, axis, GradOutputType.SHARDED),
        lambda torch, own: [torch.cat(own, 1)] * len(own),
    ),
    "reduce_scatter": (
        lambda x, axis: distributed.reduce_scatter(x, 1, axis),
        lambda torch, own: list(sum(own).chunk(len(own), 1)),
    ),
    "scatter": (
        lambda x, axis: distributed.scatter(x, 1, axis),
        lambda torch, own: [x.chunk(len(own), 1)[i] for i, x in enumerate(own)],
    ),
    "ring_shift": (
        lambda x, axis: distributed.ring_shift(x, axis, RingShiftDirection.Forward),
        lambda torch, own: [own[i - 1] for i in range(len(own))],
    ),
}
SHARED = ("broadcast", "scatter")
"""These take one tensor that the devices of the axis share: its gradient is the sum of what all of them do with it."""


def on_devices(tensor: Tensor) -> list[np.ndarray]:
    return [shard for shard in tensor.get_value().shards.each() if shard is not None]


@pytest.mark.torch
@pytest.mark.parametrize("axis", GROUPS)
@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("mapper", MAPPERS)
def test_gradients_of_collectives(opened: Any, mapper: str, collective: str, axis: int | None) -> None:
    torch = torch_or_skip()
    device = opened((2, 2), ddp=True, tp=True).get_device()
    generator = np.random.default_rng(5)
    x = Tensor.from_numpy(generator.standard_normal(SHAPE, np.float32), mapper=MAPPERS[mapper](device))
    ours, theirs = COLLECTIVES[collective]
    out = ours(x, axis)
    weights = generator.standard_normal((4 * out.shape()[0], *out.shape()[1:]), np.float32)
    scale = Tensor.from_numpy(weights, mapper=shard_tensor_to_mesh_mapper(device, 0))
    binary.mul(out, scale).backward()

    leaves = [torch.tensor(shard, requires_grad=True) for shard in on_devices(x)]
    values: list[Any] = [None] * 4
    for group in GROUPS[axis]:
        for place, value in zip(group, theirs(torch, [leaves[i] for i in group]), strict=True):
            values[place] = value
    sum((v * torch.tensor(w)).sum() for v, w in zip(values, on_devices(scale), strict=True)).backward()
    slopes = [leaf.grad.numpy() for leaf in leaves]
    if collective in SHARED:
        total = {i: sum(slopes[j] for j in group) for group in GROUPS[axis] for i in group}
        slopes = [total[i] for i in range(4)]
    for place in range(4):
        np.testing.assert_allclose(on_devices(out)[place], values[place].detach(), rtol=1e-6, atol=1e-6)
        found = on_devices(Tensor(x.get_grad()))[place]
        np.testing.assert_allclose(found, slopes[place], rtol=1e-5, atol=1e-6, err_msg=f"device {place}")


@pytest.mark.parametrize(
    ("mapper", "along"),
    [
        ("replicate", [None, None]),
        ("line", [0, 0]),
        ("line of ttnn", [0, 0]),
        ("axis 0", [0, None]),
        ("axis 1", [None, 0]),
        ("both axes", [0, 2]),
    ],
)
def test_a_place_is_told_by_the_axes_of_the_mesh(opened: Any, mapper: str, along: list[int | None]) -> None:
    device = opened((2, 2), ddp=True, tp=True).get_device()
    x = Tensor.from_numpy(np.zeros(SHAPE, np.float32), mapper=MAPPERS[mapper](device))
    topology = by_axes(x.get_value())
    found = [p.dim if isinstance(p, PlacementShard) else None for p in topology.placements()]
    assert (found, topology.distribution_shape()) == (along, MeshShape((2, 2)))


COLLAPSED: dict[str, tuple[int | None, Callable[[Any], Any], list[int | None]]] = {
    "a gather of the cut dimension": (1, lambda x: core.all_gather(x, 1, cluster_axis=1), [1, None]),
    "a gather of another dimension": (1, lambda x: core.all_gather(x, 0, cluster_axis=0), [None, 1]),
    "a scatter of copies": (None, lambda x: core.reduce_scatter(x, 1, cluster_axis=1), [None, 1]),
    "a scatter of the cut dimension": (1, lambda x: core.reduce_scatter(x, 1, cluster_axis=1), [1]),
    "a sum of parts": (0, lambda x: core.all_reduce(x, cluster_axis=1), [0, None]),
    "a sum of copies": (None, lambda x: core.all_reduce(x, cluster_axis=1), [None, None]),
}


@pytest.mark.parametrize("what", COLLAPSED)
def test_a_line_has_one_placement_until_a_collective_has_an_axis(opened: Any, what: str) -> None:
    """As in the reference: a mapper without an axis tells one placement over all devices, what a collective makes of it tells the axes."""
    device = opened((2, 2), ddp=True, tp=True).get_device()
    dim, collective, along = COLLAPSED[what]
    mapper = mappers.replicate_tensor_to_mesh_mapper(device)
    if dim is not None:
        mapper = mappers.shard_tensor_to_mesh_mapper(device, dim)
    x = Tensor.from_numpy(np.zeros((8, 8, 2), np.float32), mapper=mapper).get_value()

    def places(value: Any) -> list[int | None]:
        told = value.tensor_topology().placements()
        return [p.dim if isinstance(p, PlacementShard) else None for p in told]

    assert (places(x), x.tensor_topology().distribution_shape()) == ([dim], MeshShape((4,)))
    assert places(collective(x)) == along


@pytest.mark.parametrize("one", MAPPERS)
@pytest.mark.parametrize("other", MAPPERS)
def test_a_sum_differs_where_an_operand_does(opened: Any, one: str, other: str) -> None:
    device = opened((2, 2), ddp=True, tp=True).get_device()
    # Both shards have the shape of a mesh-wide quarter, whatever the mapper cuts.
    parts = [
        Tensor.from_numpy(np.ones(SHAPE, np.float32), mapper=MAPPERS[name](device)) for name in (one, other)
    ]
    least = [min(a, b) for a, b in zip(*(part.shape() for part in parts), strict=True)]
    a, b = (
        Tensor(
            part.get_value().derive(
                part.get_value().shards.map(lambda s: s[:, : least[0], :, : least[2]].copy())
            )
        )
        for part in parts
    )
    merged = by_axes(binary.add(a, b).get_value()).placements()
    for axis in range(2):
        differs = any(
            not isinstance(by_axes(part.get_value()).placements()[axis], PlacementReplicate) for part in parts
        )
        assert isinstance(merged[axis], PlacementShard) == differs, axis


def test_placements_are_said_anew(opened: Any) -> None:
    """The shards stay; the number of placements is that of the mesh's axes."""
    opened((2, 2), ddp=True, tp=True)
    tensor = Tensor.from_numpy(np.ones((1, 1, 4, 4), np.float32))
    set_tensor_placements(tensor, [PlacementReplicate(), PlacementShard(3)])
    assert [str(p) for p in tensor.get_value().tensor_topology().placements()] == [
        str(PlacementReplicate()),
        str(PlacementShard(3)),
    ]
    assert tensor.shape() == [1, 1, 4, 4]
    with pytest.raises(RuntimeError, match="1 placements for a tensor on a mesh of 2 axes"):
        set_tensor_placements(tensor, [PlacementReplicate()])
