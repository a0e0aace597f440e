"""Elements picked at indices, and patches folded to images. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tt_run.runtime.enums import Layout, cpp
from tt_run.runtime.errors import fatal, in_tiles
from tt_run.runtime.kernels.torch_cpu import library, torch_function
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.rows import PLACED, declare
from tt_run.runtime.ops.moreh.declaring import by_tiles, row
from tt_run.runtime.tensor.tensor import Tensor


def _picked(x: Any, index_tensors: Sequence[Any], index_dims: Sequence[int]) -> Any:
    torch = library()
    lists = [i.reshape(-1).long() for i in index_tensors]
    lists = [torch.where(i < 0, i + x.shape[d], i) for i, d in zip(lists, index_dims, strict=True)]
    if len(index_dims) == 1:
        return x.index_select(index_dims[0], lists[0])
    places: list[Any] = [slice(None)] * x.dim()
    for d, i in zip(index_dims, lists, strict=True):
        places[d] = i
    return x[tuple(places)]


def _in_tiles(given: Sequence[Tensor], arguments: Mapping[str, Any], found: Sequence[int]) -> Sequence[int]:
    """Of tiles all dimensions are kept, 1 of those at which lists pick together but the last."""
    dims = arguments["index_dims"]
    if given[0].layout is Layout.ROW_MAJOR:
        return found
    first = dims[0] if dims else 0
    return [*found[:first], *(1 for _ in dims[1:]), *found[first:]]


def _check_picked(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises RuntimeError for dimensions that are not one after the other, lists that differ in shape, and rows of which elements are picked."""
    picked, *lists = given
    room = arguments["output"]
    if room is not None and room.dtype is not picked.dtype:
        raise fatal(
            "Output tensor must have the same dtype as input tensor!",
            hint=f"an output of {cpp(picked.dtype)}",
        )
    dims = [int(dim) for dim in arguments["index_dims"]]
    if any(after != before + 1 for before, after in pairwise(dims)):
        raise fatal(
            f"The value of index_dims={{{', '.join(map(str, dims))}}} must be consecutive integers.",
            hint="one call for each run of dimensions",
        )
    if len({index.shape for index in lists}) > 1:
        raise fatal("The shapes of all index tensors must be identical!", hint="one index for each element")
    if any(index.layout is Layout.ROW_MAJOR and len(index.shape) != 1 for index in lists):
        raise fatal("Index tensor must be 1D for ROW_MAJOR layout!", hint="ttnn.reshape(index, [-1])")
    if picked.layout is not Layout.ROW_MAJOR:
        return
    if any(index.layout is not Layout.ROW_MAJOR for index in lists):
        raise fatal(
            "input layout ROW_MAJOR and index layout TILE not supported",
            hint="ttnn.to_layout(index, ttnn.ROW_MAJOR_LAYOUT)",
        )
    if len(picked.shape) - 1 in dims:
        raise fatal("getitem for ROW_MAJOR layout not support W index tensor!", hint=in_tiles("input"))


def _fold(x: Any, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    for name, value in (("output_size", size), ("kernel_size", kernel)):
        if len(value) != 2:
            raise fatal(f"Fold: {name} takes 2 elements", hint=f"{name}=(height, width)")
    for name, value in (("stride", stride), ("kernel_size", kernel)):
        if min(value, default=1) < 1:
            raise fatal(f"Fold: {name} must be greater than 0", hint=f"{name}=(1, 1) or more")
    return torch_function("nn.functional.fold")(
        x, tuple(size), tuple(kernel), tuple(dilation), tuple(padding), tuple(stride)
    )


MOVEMENT = declare(
    families.MOREH,
    row("getitem", f"(input: Tensor, index_tensors: Sequence[Tensor], index_dims: Sequence[int], *, output: Tensor | None = None, {PLACED})",
         _picked, "The elements at lists of indices along dimensions, which in tiles are kept, all but the last as 1; negative ones count from the end.",
         check=_check_picked, fitted=by_tiles, shaped=_in_tiles),
    row("fold",
         "(input: Tensor, output: Tensor | None = None, output_size: Sequence[int] = (), kernel_size: Sequence[int] = (), "
         f"dilation: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), stride: Sequence[int] = (1, 1), {PLACED})",
         _fold, "Columns of patches put together to images, overlaps summed.", integers=False, layout=Layout.ROW_MAJOR),
)  # fmt: skip
