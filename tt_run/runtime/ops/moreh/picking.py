"""Elements picked at indices, and patches folded to images. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import library, named
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.rows import PLACED, declare
from tt_run.runtime.ops.moreh.declaring import row


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


def _fold(x: Any, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    for name, value in (("output_size", size), ("kernel_size", kernel)):
        if len(value) != 2:
            raise fatal(f"Fold: {name} takes 2 elements", hint=f"{name}=(height, width)")
    for name, value in (("stride", stride), ("kernel_size", kernel)):
        if min(value, default=1) < 1:
            raise fatal(f"Fold: {name} must be greater than 0", hint=f"{name}=(1, 1) or more")
    return named("nn.functional.fold")(
        x, tuple(size), tuple(kernel), tuple(dilation), tuple(padding), tuple(stride)
    )


MOVEMENT = declare(
    families.MOREH,
    row("getitem", f"(input: Tensor, index_tensors: Sequence[Tensor], index_dims: Sequence[int], *, output: Tensor | None = None, {PLACED})",
         _picked, "The elements at lists of indices along dimensions; negative ones count from the end."),
    row("fold",
         "(input: Tensor, output: Tensor | None = None, output_size: Sequence[int] = (), kernel_size: Sequence[int] = (), "
         f"dilation: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), stride: Sequence[int] = (1, 1), {PLACED})",
         _fold, "Columns of patches put together to images, overlaps summed.", integers=False, layout=Layout.ROW_MAJOR),
)  # fmt: skip
