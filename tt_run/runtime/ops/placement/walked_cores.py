"""Cores that windows slide over, which are counted from the first one of the device, row by row. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.cores import CoreCoord, corerange_to_cores
from tt_run.runtime.enums import BLOCK_SHARDED, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec

_ANEW = "ttnn.to_memory_config(images, memory_config) with cores from (0, 0) on, or ttnn.sharded_to_interleaved(images)"


def check_walk(spec: ShardSpec, cut: TensorMemoryLayout) -> None:
    """Raises RuntimeError for cores that are not one after the other in rows from (0, 0) on."""
    by_row = cut is BLOCK_SHARDED or spec.orientation is ShardOrientation.ROW_MAJOR
    found = _away(spec, spec.grid.bounding_box().grid_size().x, by_row)
    if found is not None:
        place, core, walked = found
        raise fatal(
            f"Sliding-window shard grid core {place} is {core} but the origin-anchored row walk addresses it as {walked}. Only an "
            "origin-anchored, row-filled grid is supported; any other grid hangs max_pool2d/avg_pool2d or silently returns wrong conv2d results",
            hint=_ANEW,
        )


def check_sent(spec: ShardSpec, width: int) -> None:
    """Raises RuntimeError for pieces of columns that are sent to cores in rows of the device's `width`, but lie on others."""
    if _away(spec, width, by_row=True) is not None:
        raise fatal("Multicast runtime arguments target an unplaced core", hint=_ANEW)


def check_product(memory: MemoryConfig) -> None:
    """Raises RuntimeError for cores of a product that begin elsewhere than at the device's first."""
    spec = memory.shard_spec
    if spec is None:
        return
    box = spec.grid.bounding_box()
    if box.start != CoreCoord(0, 0):
        size, along = box.grid_size(), "" if memory.memory_layout is BLOCK_SHARDED else "1D"
        raise fatal(
            f"MatmulMultiCoreReuseMultiCast{along}ProgramConfig: output shard grid {spec.grid} must lie within extent {size.x}-{size.y}",
            hint=_ANEW,
        )


def _away(spec: ShardSpec, width: int, by_row: bool) -> tuple[int, str, str] | None:
    """The first core that is not where a walk along rows of so many finds it: its number, its place, and that of the walk."""
    for place, core in enumerate(corerange_to_cores(spec.grid, row_wise=by_row)):
        walked = (place % width, place // width)
        if (core.x, core.y) != walked:
            return place, f"{core.x}-{core.y}", f"{walked[0]}-{walked[1]}"
    return None
