"""Where each expert's tokens begin in the buffers of a group of devices, from what every device counted. Source: reference library 0.81.1."""

from __future__ import annotations

import numpy as np

from tt_run.runtime.ccl.collectives import gather_as
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.operands import settle
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.shards import Array, Shards


@operation("ttnn.experimental.deepseek_prefill.offset_cumsum", family=families.COLLECTIVE)
@whole_call
def offset_cumsum(
    input_tensor: Tensor,
    cluster_axis: int,
    num_links: int,
    experts_per_chip: int,
    memory_config: MemoryConfig,
    use_l1_small_for_semaphores: bool = False,
) -> list[Tensor]:
    """From counts of tokens (experts,) on each device: its offsets (1, experts), totals, regions, and the offsets of all (devices, experts).

    An expert's region begins where those of the experts before it on its chip end, in whole tiles; within it the devices follow each
    other along the axis. All are uint32.
    """
    experts = input_tensor.shape[-1]
    gathered = gather_as(
        "offset_cumsum", input_tensor, len(input_tensor.shape) - 1, cluster_axis, (None, num_links, None)
    )
    site = input_tensor.site
    each: list[list[Array]] = []
    for coord, counts in zip(site.local_coords, gathered.shards.each(), strict=True):
        table = np.asarray(counts).reshape(-1, experts).astype(np.int64)
        total = table.sum(0)
        tiled = (-(-total // TILE_SIZE) * TILE_SIZE).reshape(-1, experts_per_chip)
        region = (np.cumsum(tiled, 1) - tiled).reshape(-1)
        offsets = np.cumsum(table, 0) - table + region
        own = offsets[coord[cluster_axis]]
        each.append([a.astype(np.uint32) for a in (own[None], total[None], region[None], offsets)])
    lengths = (1, 1, 1, gathered.shape[-1] // experts)
    like = [np.empty((0, length, experts), np.uint32) for length in lengths]
    return [
        settle(
            (gathered,),
            Shards.from_each([parts[i] for parts in each], like=like[i]),
            DataType.UINT32,
            layout=Layout.ROW_MAJOR,
            memory_config=memory_config,
        )
        for i in range(4)
    ]
