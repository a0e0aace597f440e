"""Tensors of one value, numbers in a row, and elements picked or folded. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import library, named
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.declaration.rows import declare
from tt_run.runtime.ops.goldens import creation_goldens
from tt_run.runtime.ops.moreh.declaring import TUNED, row
from tt_run.runtime.tensor.creation import from_shape
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
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


def _fold(x: Any, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    for name, value in (("output_size", size), ("kernel_size", kernel)):
        if len(value) != 2:
            raise fatal(f"Fold: {name} takes 2 elements")
    for name, value in (("stride", stride), ("kernel_size", kernel)):
        if min(value, default=1) < 1:
            raise fatal(f"Fold: {name} must be greater than 0")
    return named("nn.functional.fold")(
        x, tuple(size), tuple(kernel), tuple(dilation), tuple(padding), tuple(stride)
    )


MOVEMENT = declare(
    families.MOREH,
    row("getitem", f"(input: Tensor, index_tensors: Sequence[Tensor], index_dims: Sequence[int], *, output: Tensor | None = None, {TUNED})",
         _picked, "The elements at lists of indices along dimensions; negative ones count from the end."),
    row("fold",
         "(input: Tensor, output: Tensor | None = None, output_size: Sequence[int] = (), kernel_size: Sequence[int] = (), "
         f"dilation: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), stride: Sequence[int] = (1, 1), {TUNED})",
         _fold, "Columns of patches put together to images, overlaps summed.", integers=False, layout=Layout.ROW_MAJOR),
)  # fmt: skip


@operation("ttnn.moreh_full", family=families.CREATION, golden=creation_goldens.full)
def moreh_full(
    shape: Sequence[int],
    fill_value: float,
    device: MeshDevice,
    *,
    dtype: DataType = DataType.BFLOAT16,
    layout: Layout = Layout.TILE,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """A tensor with one value everywhere."""
    return from_shape.full(shape, fill_value, dtype, layout, device, memory_config)


@operation("ttnn.moreh_full_like", family=families.CREATION, golden=creation_goldens.full_like)
def moreh_full_like(
    input: Tensor,
    fill_value: float,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """One value in the shape of a tensor."""
    return from_shape.full_like(input, fill_value, dtype, layout, None, memory_config)


@operation(
    "ttnn.moreh_arange",
    family=families.CREATION,
    golden=creation_goldens.moreh_arange,
    aliases=["ttnn.operations.moreh.arange"],
)
def moreh_arange(
    start: float = 0,
    end: float = 0,
    step: float = 1,
    device: MeshDevice | None = None,
    *,
    output: Tensor | None = None,
    untilize_out: bool = False,
    dtype: DataType = DataType.BFLOAT16,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Numbers from start to end, in tiles unless untilize_out says otherwise."""
    layout = Layout.ROW_MAJOR if untilize_out else Layout.TILE
    where = device if device is not None or output is None else output.device()
    made: Tensor = from_shape.arange(
        int(start), int(end), int(step), dtype=dtype, device=where, layout=layout
    )
    if output is None:
        return made
    output.overwrite(made.shards)
    return output
