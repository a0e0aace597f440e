"""All shards of a tensor on every rank: a collective when the mesh spans several ranks."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType
from tt_run.runtime.tensor.bfloat16 import from_wire, to_wire
from tt_run.runtime.tensor.shards import Shards
from tt_run.runtime.tensor.site import Site, whole
from tt_run.runtime.tensor.tensor import Tensor

Array = npt.NDArray[Any]


def every_shard(tensor: Tensor) -> list[Array | None]:
    """The shard of every mesh position in row-major order, None where there is none; replicas are the same object.

    Over several ranks all of them must call it.
    """
    site, shards = tensor.site, tensor.shards
    if whole(site):
        return shards.each()
    return _exchange(shards, site, tensor.dtype)


def _exchange(shards: Shards, site: Site, dtype: DataType) -> list[Array | None]:
    """Send this rank's distinct shards once each; indices travel before them because ranks may hold different numbers."""
    group, data = site.group, cast(Array, shards.data)
    narrow = dtype is DataType.BFLOAT16
    send = np.ascontiguousarray(to_wire(data) if narrow else data)
    indices = [
        np.frombuffer(raw, np.int32)
        for raw in group.allgather_bytes(np.array(shards.index, np.int32).tobytes())
    ]
    counts = [int(index.max(initial=-1)) + 1 for index in indices]
    received = np.empty((sum(counts), *shards.shape), send.dtype)
    each = received[:1].nbytes
    group.allgatherv(send[: counts[group.rank]], received, [count * each for count in counts])
    values = from_wire(received) if narrow else received
    rows = [values[i] for i in range(len(values))]
    starts = np.cumsum([0, *counts[:-1]])
    taken = [0] * len(indices)
    result: list[Array | None] = []
    for position in range(len(site.coords)):
        owner = site.owner_rank(position)
        row = int(indices[owner][taken[owner]])
        taken[owner] += 1
        result.append(None if row < 0 else rows[starts[owner] + row])
    return result
