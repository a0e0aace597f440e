"""What a training program needs of a distributed value: one device's shard, mappers and composers by tensor dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.tensor.topology import PlacementReplicate

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


def first_shard(value: Value) -> Array:
    """The value that all devices share, as float32 or integers. Raises RuntimeError when they hold different shards."""
    placements = value.tensor_topology().placements()
    if value.site is not None and len(value.site.coords) > 1:
        sharded = [p for p in placements if not isinstance(p, PlacementReplicate)]
        if sharded:
            raise RuntimeError(
                f"the tensor is sharded over {len(value.site.coords)} devices ({placements}); "
                "help: to_numpy(composer=ttml.core.distributed.concat_mesh_to_tensor_composer(device, dim))"
            )
    data = value.shards.data
    if not len(data):
        raise RuntimeError("no device of this rank holds a shard of the tensor")
    return np.array(data[0])
