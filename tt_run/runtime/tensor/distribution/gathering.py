"""All shards of a tensor on every rank: a collective when the mesh spans several ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tt_run.runtime import guard
from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import throw
from tt_run.runtime.mesh import transfer_rules
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.tensor.spec.site import Site, holds_everything
from tt_run.runtime.tensor.spec.topology import holders, only_shard
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.bfloat16 import from_wire, to_wire
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


def every_shard(tensor: Tensor, purpose: str = "") -> list[Array | None]:
    """The shard of every mesh position in row-major order, None where there is none; replicas are the same object.

    `purpose` is an item of the call's signature: what the ranks make of the shards, in which they do not contradict each other.

    The shard tensor of one device, and what is computed of it, gives just that shard. Over several ranks all that host a device of the mesh must call it; the guard checks that they do.
    Raises RuntimeError on a rank that hosts no device of the mesh, and when the mesh is closed.
    """
    _require_readable(tensor)
    site, shards = tensor.site, tensor.shards
    alone = only_shard(tensor.tensor_topology())
    if alone is not None:
        return _only(shards, site, alone)
    if holds_everything(site):
        return cast("list[Array | None]", shards.each())
    if not site.group.is_member:
        ranks = ", ".join(map(str, site.group.ranks))
        raise throw(
            f"The tensor lives on a mesh {site.shape} of rank {ranks}; this rank hosts no device of it and cannot read it. "
            "Read it where `mesh_device.get_device_ids()` is not empty.",
            hint="if mesh_device.get_device_ids(): …",
        )
    signature = guard.Signature(
        "read tensor", shape=tuple(tensor.shape), dtype=tensor.dtype.name, detail=purpose
    )
    guard.collective(site.group, signature)
    return _exchange(shards, site, tensor.dtype)


def readable_shards(tensor: Tensor) -> list[Array | None]:
    """The shards that a rank reads by itself: those of its own devices, of a tensor that has several.

    The only shard of a tensor is read by all ranks, together. Raises RuntimeError as `every_shard` does.
    """
    if (
        len(holders(tensor.tensor_topology())) <= 1
        or holds_everything(tensor.site)
        or not tensor.site.group.is_member
    ):
        return every_shard(tensor)
    return cast("list[Array | None]", own_shards(tensor).each())


def own_shards(tensor: Tensor) -> Shards:
    """What the devices of this rank hold, read by it alone. Raises RuntimeError when the mesh is closed."""
    _require_readable(tensor)
    return tensor.shards


def _require_readable(tensor: Tensor) -> None:
    device = tensor.device()
    if device is not None:
        device.require_open("read tensor")
        transfer_rules.check(device, "read")


def _only(shards: Shards, site: Site, coord: MeshCoordinate) -> list[Array | None]:
    """The one shard of a device: read where it is, without the other ranks."""
    if coord not in site.local_coords:
        owner = site.owner_rank(list(site.coords).index(coord))
        raise throw(
            f"The shard at {coord} lives on rank {owner} and cannot be read here. Ask "
            "mesh_device.get_view().is_local(coord) first, or read all shards on all ranks: to_torch with a mesh composer, "
            "or get_device_tensors(ttnn.from_device(tensor)).",
            hint="ttnn.to_torch(tensor, mesh_composer=ttnn.ConcatMeshToTensor(device, dim=0)) on every rank",
        )
    return [shard for shard in shards.each() if shard is not None]


def _exchange(shards: Shards, site: Site, dtype: DataType) -> list[Array | None]:
    """Send this rank's distinct shards once each; indices travel before them because ranks may hold different numbers."""
    group, data = site.group, cast(Array, shards.data)
    raw = group.allgather_bytes(np.array(shards.index, np.int32).tobytes())
    indices = {rank: np.frombuffer(text, np.int32) for rank, text in zip(group.ranks, raw, strict=True)}
    if shapes.active():
        return _by_position(site, indices, [shards.row(0)], dict.fromkeys(group.ranks, 0))
    narrow = dtype is DataType.BFLOAT16
    send = to_wire(data) if narrow else np.ascontiguousarray(data)
    counts = [int(index.max(initial=-1)) + 1 for index in indices.values()]
    received = np.empty((sum(counts), *shards.shape), send.dtype)
    size = int(np.prod(shards.shape, dtype=int)) * send.itemsize
    group.allgatherv(send[: counts[group.rank]], received, [count * size for count in counts])
    values = from_wire(received) if narrow else received
    start = dict(zip(group.ranks, np.cumsum([0, *counts[:-1]]).tolist(), strict=True))
    return _by_position(site, indices, list(values), start)


def _by_position(
    site: Site, indices: Mapping[int, npt.NDArray[np.int32]], rows: Sequence[Array], start: Mapping[int, int]
) -> list[Array | None]:
    """The row of every position: the index of its rank says which, counted from where that rank's rows start."""
    unread = {rank: iter(index.tolist()) for rank, index in indices.items()}
    result: list[Array | None] = []
    for position in range(len(site.coords)):
        owner = site.owner_rank(position)
        row = next(unread[owner])
        result.append(None if row < 0 else rows[start[owner] + row])
    return result
