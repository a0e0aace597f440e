"""Sums over batches and channels, also cut into two parts of whole tiles. PyTorch computes them. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import library
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG
from tt_run.runtime.tile import TILE_SIZE, whole_tiles


def _over_batches(x: Any, dims: Sequence[int] = (0, 1)) -> Any:
    most = max(x.dim() - 2, 0)
    wrong = [dim for dim in dims if not 0 <= dim < most]
    if wrong:
        raise fatal(
            f"FastReduceNC reduces only outer dims: dim must be between 0 and {most - 1}, but has {wrong[0]}",
            hint="ttnn.sum(x, dim=…) takes others",
        )
    height, width = x.shape[-2:]
    spare = (0, whole_tiles(width) - width, 0, whole_tiles(height) - height)
    return library().nn.functional.pad(x.sum(tuple(dims) or (0, 1), keepdim=True), spare)


def _summed_in_two(x: Any, dim: int, split_output_width: int) -> list[Any]:
    check_two_parts("fast_reduce_nc_split", x.shape, split_output_width)
    if dim not in (0, 1):
        raise fatal(
            f"fast_reduce_nc_split: dim must be 0 or 1, got {dim}",
            hint="dim=0 or 1; ttnn.sum(x, dim=…) takes others",
        )
    total = x.sum(dim, keepdim=True)
    return [total[..., :split_output_width].contiguous(), total[..., split_output_width:].contiguous()]


def check_two_parts(name: str, shape: Sequence[int], first: int) -> None:
    """Raises RuntimeError unless there are four dimensions and the last is cut into two parts of whole tiles."""
    if len(shape) != 4 or shape[-1] % TILE_SIZE or first % TILE_SIZE or not 0 < first < shape[-1]:
        raise fatal(
            f"{name}: {list(shape)} cannot be cut after {first} columns into two parts of whole tiles",
            hint=f"four dimensions, and a first part of {TILE_SIZE}, {2 * TILE_SIZE}, … columns, fewer than all",
        )


OUTER = declare(
    families.REDUCTION,
    Row("experimental.fast_reduce_nc",
        f"(input: Tensor, *, dims: Sequence[int] = (0, 1), output: Tensor | None = None, {PLACED}, "
        "compute_kernel_config: object = None, sub_core_grids: CoreRangeSet | None = None)",
        _over_batches, "The sum over batch and channel dimensions, which stay as ones; as many rows and columns as whole tiles have.", integers=False, memory=DRAM_MEMORY_CONFIG),
    Row("experimental.fast_reduce_nc_split",
        f"(input: Tensor, *, dim: int, split_output_width: int, {PLACED}, compute_kernel_config: object = None)", _summed_in_two,
        "The sum over dimension 0 or 1 of four, which stays as one, cut after split_output_width columns.", integers=False),
)  # fmt: skip
