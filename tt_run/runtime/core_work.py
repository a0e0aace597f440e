"""Work handed to the cores of a grid: which of them, in which order, and how many units each. Source: reference library 0.81.1."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from tt_run.runtime import rectangles
from tt_run.runtime.cores import (
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    core_of,
    corerange_to_cores,
    rectangle_of,
    set_of,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.native.arguments import also_named


def num_cores_to_corerangeset_in_subcoregrids(
    start_core: CoreCoord | Sequence[int],
    target_num_cores: int,
    sub_core_grids: CoreRangeSet,
    row_wise: bool = False,
) -> CoreRangeSet:
    """The first cores of a set of rectangles from `start_core` on; rectangles before the one that holds it are passed over.

    Raises RuntimeError when the start is outside or too few cores follow it.
    """
    start_core, available = core_of(start_core), sub_core_grids.num_cores()
    if target_num_cores > available:
        raise fatal(
            f"Target number of cores {target_num_cores} is greater than total available cores {available}",
            "target_num_cores <= sub_core_grids.num_cores()",
            hint=f"ask for {available} or fewer, or name more in sub_core_grids",
        )
    if not sub_core_grids.contains(start_core):
        raise fatal(
            "Start core must be inside sub_core_grids",
            "sub_core_grids.contains(start_core)",
            hint="start_core=… of one of the ranges of sub_core_grids",
        )
    found, missing = rectangles.first_cells(
        map(rectangle_of, sub_core_grids), (start_core.x, start_core.y), target_num_cores, row_wise
    )
    if missing:
        raise fatal(
            f"Failed to assign all {target_num_cores} requested cores",
            "remaining_cores == 0",
            hint="begin nearer to the first core of sub_core_grids: cores before the start are left out",
        )
    return set_of(found)


@also_named(start="num_cores", end="grid_size_x")
def grid_to_cores(
    num_cores: int | CoreCoord | Sequence[int],
    grid_size_x: int | CoreCoord | Sequence[int],
    grid_size_y: int = 0,
    row_wise: bool = False,
) -> list[CoreCoord]:
    """The first `num_cores` cores of a grid that begins at 0-0; also `(start, end)`, both included, column by column."""
    if isinstance(num_cores, (tuple, list)) and isinstance(grid_size_x, (CoreCoord, tuple, list)):
        num_cores, grid_size_x = core_of(num_cores), core_of(grid_size_x)
    if isinstance(num_cores, CoreCoord) and isinstance(grid_size_x, CoreCoord):
        whole = CoreRangeSet([CoreRange(num_cores, grid_size_x)])
        return corerange_to_cores(whole, row_wise=bool(grid_size_y) or row_wise)
    if not isinstance(num_cores, int) or not isinstance(grid_size_x, int):
        raise TypeError(
            "grid_to_cores(num_cores, columns, rows), or grid_to_cores(start, end) of two CoreCoords"
        )
    count, columns = operator.index(num_cores), operator.index(grid_size_x)
    if row_wise:
        return [CoreCoord(i % columns, i // columns) for i in range(count)]
    return [CoreCoord(i // grid_size_y, i % grid_size_y) for i in range(count)]


@also_named(core_grid="grid_size")
def split_work_to_cores(
    grid_size: CoreCoord | CoreRangeSet | Sequence[int], units_to_divide: int, row_wise: bool = False
) -> tuple[int, CoreRangeSet, CoreRangeSet, CoreRangeSet, int, int]:
    """Units of work over cores: how many cores, which, those with one unit more, the others, and the units of each kind."""
    if not isinstance(grid_size, CoreRangeSet):
        grid_size = core_of(grid_size)
        grid_size = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(grid_size.x - 1, grid_size.y - 1))])
    count = min(grid_size.num_cores(), units_to_divide)
    if not count:
        return 0, CoreRangeSet(), CoreRangeSet(), CoreRangeSet(), 0, 0
    each, more = divmod(units_to_divide, count)
    order = corerange_to_cores(grid_size, count, row_wise)

    def part(start: int, size: int) -> CoreRangeSet:
        if not size:
            return CoreRangeSet()
        return num_cores_to_corerangeset_in_subcoregrids(order[start], size, grid_size, row_wise)

    everything = part(0, count)
    if not more:
        return count, everything, everything, CoreRangeSet(), each, 0
    return count, everything, part(0, more), part(more, count - more), each + 1, each


def divup(a: float, b: float) -> float:
    """a / b rounded up, in numbers of the kind of its arguments."""
    return (a + b - 1) // b


def roundup(a: float, b: float) -> float:
    """The smallest multiple of b that is at least a."""
    return divup(a, b) * b
