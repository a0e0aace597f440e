"""What each collective must give, in plain NumPy over a list with one shard per device of a 2-D mesh."""

from __future__ import annotations

import ml_dtypes
import numpy as np


def groups(mesh, axis):
    """Positions of each group, by slicing the grid of positions."""
    grid = np.arange(mesh[0] * mesh[1]).reshape(mesh)
    if axis is None:
        return [grid.ravel().tolist()]
    return (grid.T if axis == 0 else grid).tolist()


def device_groups(mesh, axis):
    """The same as the tuples that a mesh device gives."""
    return tuple(map(tuple, groups(mesh, axis)))


def bfloat16(array):
    return array.astype(ml_dtypes.bfloat16).astype(np.float32)


def ordered_sum(shards, rounding=None):
    total = shards[0].copy()
    for shard in shards[1:]:
        total = total + shard
    return total if rounding is None else rounding(total)


def expected(name, mesh, shards, axis, dim=None, rounding=None):
    """The shard (or list of shards) of every position after the collective."""
    result = [None] * len(shards)
    for group in groups(mesh, axis):
        members = [shards[p] for p in group]
        for i, p in enumerate(group):
            if name == "all_gather":
                result[p] = np.concatenate(members, dim)
            elif name == "all_reduce":
                result[p] = ordered_sum(members, rounding)
            elif name == "reduce_scatter":
                result[p] = np.split(ordered_sum(members, rounding), len(group), dim)[i]
            elif name == "all_broadcast":
                result[p] = members
            elif name == "mesh_partition":
                result[p] = np.split(shards[p], len(group), dim)[i]
    return result
