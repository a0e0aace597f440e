"""Golden functions of collectives: from the shards of all devices, in row-major order, to the whole tensor of the result.

The words of a mesh are those of the reference: its shape in `_ttnn_golden_mesh_shape`, and in `_ttnn_golden_mesh_shard_dims` for each
of its axes the dimension that is cut along it, None where the devices hold the same. Without a shape nothing can be said, and the result
is None. Source: the golden functions of the reference library 0.81.1.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tt_run.runtime.kernels.torch_cpu import library

Golden = Callable[..., Any]
Cuts = list[int | None]
"""For each axis of a mesh the dimension that is cut along it."""

_SHAPE, _CUTS = "_ttnn_golden_mesh_shape", "_ttnn_golden_mesh_shard_dims"


def _groups(shape: Sequence[int], axis: int | None) -> list[list[int]]:
    """The devices that exchange with each other: all of them, or those along an axis. Raises ValueError for an axis that is not there."""
    devices = np.arange(math.prod(shape)).reshape(shape)
    if axis is None:
        return [devices.reshape(-1).tolist()]
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"Collective axis {axis} is invalid for mesh shape {tuple(shape)}")
    return np.moveaxis(devices, axis, -1).reshape(-1, shape[axis]).tolist()


def _composed(shards: Sequence[Any], shape: Sequence[int], cuts: Cuts) -> Any:
    """The whole tensor of which devices hold the shards. Raises ValueError where there are not as many as devices, or axes."""
    if len(shards) != math.prod(shape) or len(cuts) != len(shape):
        raise ValueError(f"{len(shards)} shards cut along {cuts} are not those of a mesh of {tuple(shape)}")
    if not shape:
        return shards[0]
    each = len(shards) // shape[0]
    rows = [_composed(shards[i * each : (i + 1) * each], shape[1:], cuts[1:]) for i in range(shape[0])]
    return rows[0] if cuts[0] is None else library().cat(rows, cuts[0])


def _replicated(cuts: Cuts, axis: int | None) -> Cuts:
    """The cuts of a result that is the same along an axis, or everywhere."""
    return _placed(cuts, axis, None)


def _placed(cuts: Cuts, axis: int | None, cut: int | None) -> Cuts:
    """The cuts of a result that is cut in this way along an axis, or along every one."""
    chosen = range(len(cuts)) if axis is None else (axis % len(cuts),)
    return [cut if a in chosen else kept for a, kept in enumerate(cuts)]


def _joined(cuts: Cuts, dim: int, rank: int) -> Cuts:
    """The cuts of a result in which dimension `dim` is whole."""
    return [None if cut is not None and cut % rank == dim % rank else cut for cut in cuts]


def _exchange(golden: Golden) -> Golden:
    """A golden function of a list of shards, which also takes the shape of the mesh, its cuts and `cluster_axis`."""
    own = inspect.signature(golden).parameters

    def of_mesh(input_tensor: Any, *arguments: Any, cluster_axis: int | None = None, **keywords: Any) -> Any:
        shape, cuts = keywords.get(_SHAPE), keywords.get(_CUTS)
        if shape is None or cuts is None:
            return None
        named = {word: value for word, value in keywords.items() if word in own}
        return golden(list(input_tensor), tuple(shape), list(cuts), cluster_axis, *arguments, **named)

    of_mesh.__doc__ = golden.__doc__
    return of_mesh


@_exchange
def all_broadcast(shards: list[Any], shape: Any, cuts: Cuts, axis: int | None, *_: Any) -> list[Any]:
    """The shard of each device of a group on all of them: one result for each."""
    groups = _groups(shape, axis)
    found = []
    for place in range(len(groups[0])):
        given = {device: shards[group[place]] for group in groups for device in group}
        found.append(_composed([given[d] for d in range(len(shards))], shape, _replicated(cuts, axis)))
    return found


def _index(coordinate: Any, shape: Sequence[int]) -> int:
    return int(np.ravel_multi_index(tuple(int(c) for c in coordinate), tuple(shape)))


@_exchange
def broadcast(
    shards: list[Any], shape: Any, cuts: Cuts, axis: int | None, sender_coord: Any = None, *_: Any
) -> Any:
    """The sender's shard on all devices of its group; the other groups keep theirs."""
    sender = _index(sender_coord, shape)
    group = next(group for group in _groups(shape, axis) if sender in group)
    found = [shards[sender] if device in group else shard for device, shard in enumerate(shards)]
    return _composed(found, shape, _replicated(cuts, axis))


@_exchange
def mesh_partition(shards: list[Any], shape: Any, cuts: Cuts, axis: int | None, dim: int = 0, *_: Any) -> Any:
    """Each device's own piece of what it holds; None where the result has no placement that tells how it is composed."""
    dim %= shards[0].dim()
    axis = None if axis is None else axis % len(shape)
    if _unplaced(shape, cuts, dim, axis):
        return None
    found = list(shards)
    for group in _groups(shape, axis):
        for place, device in enumerate(group):
            found[device] = shards[device].chunk(len(group), dim)[place]
    return _composed(found, shape, _placed(cuts, axis, dim))


def _unplaced(shape: Sequence[int], cuts: Cuts, dim: int, axis: int | None) -> bool:
    """Whether a partition mixes its pieces with a cut that is there: another dimension's along the same axis, or the same one's along an axis within."""
    if axis is None:
        return any(size > 1 and cut not in (None, dim) for size, cut in zip(shape, cuts, strict=True))
    if axis >= len(cuts) or cuts[axis] not in (None, dim):
        return True
    also = [a for a, cut in enumerate(cuts) if a != axis and cut == dim and shape[a] > 1]
    more = [a for a, size in enumerate(shape) if a != axis and size > 1]
    return bool(also) and (also != more or also[0] > axis or len(also) > 1)


@_exchange
def all_gather(shards: list[Any], shape: Any, cuts: Cuts, axis: int | None, dim: int = 0, *_: Any) -> Any:
    """The shards of a group one after the other along `dim`, on each of its devices."""
    found = list(shards)
    for group in _groups(shape, axis):
        whole = library().cat([shards[device] for device in group], dim)
        for device in group:
            found[device] = whole
    return _composed(found, shape, _joined(cuts, dim, shards[0].dim()))


def _sums(shards: list[Any], groups: list[list[int]]) -> list[tuple[list[int], Any]]:
    return [(group, library().stack([shards[device] for device in group]).sum(0)) for group in groups]


@_exchange
def all_reduce(shards: list[Any], shape: Any, cuts: Cuts, axis: int | None, *_: Any) -> Any:
    """The sum over a group, on each of its devices."""
    found = list(shards)
    for group, total in _sums(shards, _groups(shape, axis)):
        for device in group:
            found[device] = total
    return _composed(found, shape, _replicated(cuts, axis))


@_exchange
def reduce_scatter(shards: list[Any], shape: Any, cuts: Cuts, axis: int | None, dim: int = 0, *_: Any) -> Any:
    """The sum over a group, of which each device gets its piece along `dim`."""
    rank, found = shards[0].dim(), list(shards)
    for group, total in _sums(shards, _groups(shape, axis)):
        for device, piece in zip(group, total.chunk(len(group), dim), strict=True):
            found[device] = piece
    placed = _joined(cuts, dim, rank)
    for a, size in enumerate(shape):
        if axis is None:
            placed[a] = dim % rank if size > 1 else None
    if axis is not None:
        placed[axis] = dim % rank
    return _composed(found, shape, placed)


def point_to_point(
    input_tensor: Any, sender_coord: Any, receiver_coord: Any, *_: Any, _ttnn_golden_mesh_shape: Any = None, **__: Any
) -> Any:  # fmt: skip
    """The sender's shard, which only the receiver gets; `_ttnn_mesh_index` of the result says which device that is."""
    if _ttnn_golden_mesh_shape is None:
        return None
    found = input_tensor[_index(sender_coord, _ttnn_golden_mesh_shape)].clone()
    found._ttnn_mesh_index = _index(receiver_coord, _ttnn_golden_mesh_shape)
    return found


_TILE = 32


def reduce_to_root(
    input_tensor_l: Any,
    input_tensor_s: Any,
    input_tensor_m: Any,
    root_coord: Any,
    *_: Any,
    scale_fp32: float = 1.0,
    _ttnn_golden_mesh_shape: Any = None,
    **__: Any,
) -> Any:
    """Partial attention of four devices as one: sums l and s, maxima m of each core, merged in pairs; l over s at the end.

    None without the shape of a mesh. Raises ValueError for another number of devices, and for widths that are no whole tiles.
    """
    if _ttnn_golden_mesh_shape is None:
        return None
    states = list(zip(input_tensor_l, input_tensor_s, input_tensor_m, strict=True))
    width = states[0][1].shape[-1]
    if len(states) != 4 or width == 0 or width % _TILE:
        raise ValueError(f"reduce_to_root merges four devices and whole tiles, not {len(states)} of {width}")
    cores = width // _TILE
    if any(s.shape != m.shape or value.shape[-1] % cores for value, s, m in states):
        raise ValueError("reduce_to_root: the sums, maxima and values of a device do not fit each other")
    by_core = [tuple(part.unflatten(-1, (cores, -1)) for part in state) for state in states]

    def merged(one: Any, other: Any) -> Any:
        top = library().maximum(one[2], other[2])
        by, of = (((state[2] - top) * scale_fp32).exp() for state in (one, other))
        return one[0] * by[..., :1] + other[0] * of[..., :1], one[1] * by + other[1] * of, top

    value, total, top = merged(merged(by_core[3], by_core[2]), merged(by_core[0], by_core[1]))
    found = tuple(part.flatten(-2) for part in (value / total[..., :1], total, top))
    for part in found:
        part._ttnn_mesh_index = _index(root_coord, _ttnn_golden_mesh_shape)
    return found
